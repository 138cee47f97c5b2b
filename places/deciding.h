/* Decides reports and changes of places, in one transaction each time: events, states, rows of places, and how far both topics are decided.
 *
 *     locations         users with places alone --> verdict.h ----> place-events, place-states
 *     place-commands    -------------------------> rules here ----> places, place-states; tombstones of events
 *
 * Kafka gives no order between a report and a change of places. The transaction decides it once: the state that it writes names the offset of
 * `locations` from which on the change counts. So events are a function of one log, and of changes at offsets that stand in the topics.
 *
 * A report that changes nothing but the time of the newest one writes nothing. Its user waits, and what is committed of `locations` stays at
 * the first report for which somebody waits. After a while, by the arrival of reports, the state is written all the same.
 *
 * Loop's thread. */
#pragma once

#include "decider/decider.h"
#include "places/standing.h"
#include "tasks/tasks.h"

struct deciding_places;

struct deciding_places_options {
    uv_loop_t *loop;
    const struct kafka_settings *kafka;
    struct log *log;
    struct metrics *metrics;
    const char *transactional_id; /* copied */
    int32_t partitions;
    size_t batch; /* reports and changes in one transaction at most */
    int64_t cover_ms;
    int64_t ahead_ms; /* as for verdict_counts */
    struct place_stores *stores;
    struct tasks *tasks;
};

struct deciding_places *deciding_places_new(const struct deciding_places_options *options);
void deciding_places_free(struct deciding_places *deciding); /* its decider is not busy; NULL is fine */
struct decider *deciding_places_decider(const struct deciding_places *deciding);
void deciding_places_second(struct deciding_places *deciding);

/* The user's place as the next change will find it, also if it is not read back yet. 1: found; 0: there is none; or a negative errno code.
 * Its pointers are valid until the next call. */
int deciding_places_row(struct deciding_places *deciding, int32_t partition, const struct place_key *key,
                        struct user_place *place, struct error *error);
/* Calls for each of the user's places, so, by id. */
int deciding_places_rows(struct deciding_places *deciding, int32_t partition, int64_t user, void *context,
                         void (*each)(void *context, const struct place_key *key, const struct user_place *place),
                         struct error *error);
