/* Tells users that somebody has arrived at a place or left it: the effect of place-events, which become records of `approaches`, of which
 * feed processes make notices. A user who is named in the event, or any friend if it is for all, is told if the two are friends now, both
 * share, the friend does not mute the user, and does not see the user rounded: such a friend learns the cell and nothing else. The user alone
 * is told without that. Whoever goes to and fro faster than people do is told of no more (the events themselves are all there).
 *
 * Who shares is read once the first event is for somebody else (router/choices.h). Until that is known, events wait: the group is not told
 * of them (tasks/tasks.h: held), and they are read once more. Loop's thread.
 */
#pragma once

#include "state/kind.h"

struct router;
struct telling_places;

typedef void telling_places_failed(void *router, const char *doing, const struct error *error);

/* failed: the process must end. */
struct telling_places *telling_places_new(struct router *router, telling_places_failed *failed);
void telling_places_free(struct telling_places *telling); /* NULL is fine */

/* A store of nothing: records only have an effect. */
extern const struct state_kind PLACE_EVENTS_KIND;

/* The effect of a record. -EAGAIN: it cannot be sent now. */
int telling_places_tell(struct telling_places *telling, const struct kafka_record *record, struct error *error);

/* Of tasks_topic: the first event of the partition that waits. */
int64_t telling_places_held(const struct telling_places *telling, int32_t partition);

/* Ten times a second: events that have waited are read again, once it is known who shares. */
void telling_places_tenth(struct telling_places *telling);
