/* The function that decides arrivals and departures: a user's reports in the order of the log, and the user's places.
 *
 *     in     distance + accuracy <= radius
 *     out    distance - accuracy > radius + max(50 m, radius / 10)
 *
 * An accuracy that is not known is 0. REPORTs and JOINs count, but no JOIN that only looks (its time is 0), none that is older than the newest
 * one, none of a consent that a LEAVE has ended, and none from long after its arrival, or one wrong clock would end all. Of equal times each
 * counts. A LEAVE makes nobody leave a place. The first report inside is an arrival.
 *
 * Pure; any thread. */
#pragma once

#include "event/records.h"
#include "geo/geo.h"
#include "users/place.h"

/* A place as reports are compared with it. */
struct watched_place {
    struct geo_point centre;
    int32_t radius;           /* metres */
    struct geo_circle border; /* what has to be crossed to change something, whatever the accuracy */
    int32_t slot;             /* the bit in the state */
    uint32_t id_size;
    char id[PLACE_ID_MAX];
};

/* A report is compared with this first: further north or south it changes nothing at the place. A user's lie side by side, apart from the
 * places, so that a report reads few lines of memory. */
struct watched_band {
    uint16_t south, height; /* in steps of some 360 m, from the South Pole on */
};

/* Sets the place's border, and the band, by where the user is. */
void verdict_prepare(struct watched_place *place, bool inside, struct watched_band *band);

enum { VERDICT_ANY_TIME = -1 };

/* Whether a report counts that arrived then. ahead_ms: how far after its arrival it may be; VERDICT_ANY_TIME: any. */
bool verdict_counts(const struct place_state *state, const struct location *event, int64_t arrived_ms,
                    int64_t ahead_ms);

/* Whether a report that counts takes the user into the place, or out of it. */
bool verdict_turns(const struct watched_place *place, bool inside, const struct location *event);

/* Judges an event: changes the state, but for its numbers and its offset, and the borders and bands of the places that the user enters or leaves.
 * Returns these: 1 << the index of each. places: up to PLACES_MAX. */
uint64_t verdict_take(struct place_state *state, struct watched_place *places, struct watched_band *bands, size_t count,
                      const struct location *event, int64_t arrived_ms, int64_t ahead_ms);
