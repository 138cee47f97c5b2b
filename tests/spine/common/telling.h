/* Effects: each change of a counter goes to COUNTER_CHANGES, and to the edges that watch the counter. They are carried out at least
 * once: the group's offset of COUNTERS moves past a record when what it led to is acknowledged. An effect that was not is told
 * again, by whoever owns the partition then. Loop's thread. */
#ifndef SPINE_TELLING_H
#define SPINE_TELLING_H

#include "counters.h"
#include "deliver/epochs.h"
#include "kafka/settings.h"
#include "watch/owner.h"

struct telling;

struct telling_options {
    uv_loop_t *loop;
    const struct kafka_settings *kafka;
    int32_t partitions, routes;
    int64_t speed; /* watching's minute is that many times shorter */
    struct epochs *epochs;
    void *context;
    void (*lost)(void *context); /* something did not arrive: it must be told again */
    bool (*version)(void *context, int32_t partition, const void *name, size_t size, struct watch_version *version);
};

int telling_new(const struct telling_options *options, struct telling **telling, struct error *error);
void telling_free(struct telling *telling); /* NULL is fine */

void telling_attach(struct telling *telling, int32_t partition);
void telling_detach(struct telling *telling, int32_t partition);
int telling_watch(struct telling *telling, const struct kafka_record *record); /* a record of COUNTER_WATCHES */
/* From now on what changes at that offset of COUNTERS or later is told. */
void telling_live(struct telling *telling, int32_t partition, int64_t from);

/* A record of COUNTERS has been applied. counter NULL: it is an outcome, which is told nobody. */
void telling_applied(struct telling *telling, const struct kafka_record *record, const struct counter *counter);

void telling_flush_old(struct telling *telling, int64_t now_us);
void telling_flush(struct telling *telling); /* all goes out; called before each epoch is closed */
bool telling_blocked(struct telling *telling);
void telling_dead(struct telling *telling, const struct kafka_record *record, const char *reason);

/* Ten times a second. */
void telling_continue(struct telling *telling);

/* The offsets that the group is to be told, and how many: `positions` has room for all partitions. again: also those that it was
 * told before. */
size_t telling_settled(struct telling *telling, bool again, struct kafka_position *positions);
/* Changes that are not settled will be told again. Returns the offset from which COUNTERS must be read again for that; -1: there
 * are none. */
int64_t telling_rewind(struct telling *telling, int32_t partition);
void telling_forgotten(struct telling *telling); /* the epochs were forgotten (epochs_forget) */

#endif
