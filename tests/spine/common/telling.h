/* Effects: each change of a counter goes to COUNTER_CHANGES, and to the edges that watch the counter (lib/watch). The watches are a
 * store in memory. Loop's thread. */
#pragma once

#include "counters.h"
#include "kafka/producer.h"
#include "ledger.h"
#include "watch/owner.h"

struct telling;

struct telling_options {
    uv_loop_t *loop;
    const struct kafka_settings *kafka;
    int32_t partitions, routes;
    int64_t speed; /* watching's minute is that many times shorter */
    struct epochs *epochs;
    struct table_store *ledger;
    void *context;
    void (*lost)(void *context); /* something did not arrive: it must be told again */
};

int telling_new(const struct telling_options *options, struct telling **telling, struct error *error);
void telling_free(struct telling *telling); /* NULL is fine */

extern const struct state_kind TELLING_KIND; /* of COUNTER_WATCHES */

void telling_change(struct telling *telling, const struct kafka_record *record, const struct counter *counter);

void telling_flush_old(struct telling *telling, int64_t now_us);
void telling_flush(struct telling *telling);
bool telling_blocked(struct telling *telling);                    /* offers again what waits; true: there is no room */
void telling_continue(struct telling *telling);                   /* ten times a second */
struct kafka_producer *telling_producer(struct telling *telling); /* for dead letters */
