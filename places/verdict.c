#include "places/verdict.h"

#include <math.h>

enum { MARGIN_M = 50, MARGIN_SHARE = 10 /* of the radius */, POLE = 900000000, STEP_BITS = 15 };

static double outer_m(const struct watched_place *place) {
    return place->radius + fmax(MARGIN_M, (double)place->radius / MARGIN_SHARE);
}

static bool is_inside(const struct place_state *state, const struct watched_place *place) {
    return state->inside >> place->slot & 1;
}

static uint16_t step_of(int64_t lat) {
    int64_t within = lat < -POLE ? -POLE : lat > POLE ? POLE : lat;
    return (uint16_t)((within + POLE) >> STEP_BITS);
}

/* Inside there is no latitude at which nothing can change. */
void verdict_prepare(struct watched_place *place, bool inside, struct watched_band *band) {
    place->border = geo_circle(place->centre, inside ? outer_m(place) : place->radius);
    uint16_t south = step_of(place->centre.lat - place->border.lat_reach);
    uint16_t north = step_of(place->centre.lat + place->border.lat_reach);
    *band = inside ? (struct watched_band){0, UINT16_MAX} : (struct watched_band){south, (uint16_t)(north - south)};
}

bool verdict_counts(const struct place_state *state, const struct location *event, int64_t arrived_ms,
                    int64_t ahead_ms) {
    if ((event->kind != LOCATION_REPORT && event->kind != LOCATION_JOIN) || !event->time) return false;
    if (ahead_ms != VERDICT_ANY_TIME && event->time > arrived_ms + ahead_ms) return false;
    return event->time >= state->newest && (state->left < 0 || event->opted > state->left);
}

bool verdict_turns(const struct watched_place *place, bool inside, const struct location *event) {
    const struct geo_point at = {event->lat, event->lng};
    // An accuracy only makes a change less likely.
    if (geo_near(&place->border, at) == inside) return false;
    double distance = geo_distance(place->centre, at), accuracy = event->accuracy > 0 ? event->accuracy : 0;
    return inside ? distance - accuracy > outer_m(place) : distance + accuracy <= place->radius;
}

/* Those in whose band the latitude is, without a branch for each: where it lies is as good as random. */
static uint64_t in_band(const struct watched_band *bands, size_t count, int32_t lat) {
    uint64_t found = 0;
    uint16_t step = step_of(lat);
    for (size_t i = 0; i < count; i++) found |= (uint64_t)((uint16_t)(step - bands[i].south) <= bands[i].height) << i;
    return found;
}

uint64_t verdict_take(struct place_state *state, struct watched_place *places, struct watched_band *bands, size_t count,
                      const struct location *event, int64_t arrived_ms, int64_t ahead_ms) {
    uint64_t turned = 0;
    if (event->kind == LOCATION_LEAVE && event->opted > state->left) state->left = event->opted;
    if (!verdict_counts(state, event, arrived_ms, ahead_ms)) return 0;
    state->newest = event->time;
    for (uint64_t left = in_band(bands, count, event->lat); left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        bool inside = is_inside(state, &places[i]);
        if (!verdict_turns(&places[i], inside, event)) continue;
        turned |= UINT64_C(1) << i;
        state->inside ^= INT64_C(1) << places[i].slot;
        verdict_prepare(&places[i], !inside, &bands[i]);
    }
    return turned;
}
