/* Decides commands: each one once, whatever fails. A product says how; this library sees to it that what was decided and how far
 * it went are written in one transaction of Kafka.
 *
 *     records of command topics --> read --> queue --> decide, a slice at a time --> transaction {
 *                                    |                    ^      |                      state records (decider_write)
 *                                    v                    |      v                      dead letters
 *                               dead letter               +- overlay, until read back   the commands' next offsets
 *                                                                                    } --> commit, on a thread of its own
 *
 * The product gives two functions. `read` decodes and checks one record. `decide` gets commands and looks up what they are decided
 * by: first what the overlay holds (state that was written and has not been read back yet), then what the product has read from
 * its state topics. It writes the new state with decider_write and puts it into the overlay. It does nothing else: a transaction
 * may be aborted, and its commands are then decided again.
 *
 * A transaction that fails drops the queue and the overlay and calls on_reset. The owner then begins every partition again
 * (decider_begin), from its committed offset, when it has read the state topics to their ends. A new assignment of the group does
 * the same by decider_revoke.
 *
 * Each transaction also writes how far each partition's commands are decided to the topic `offsets`. Kafka forgets a group's
 * committed offsets when nobody uses or someone deletes the group; the owner begins from the higher of the two, so that no
 * command is decided twice (command_offset.h reads the record). An offset beyond the end of the topic of commands belongs to a
 * topic that has been made anew since: it does not count.
 *
 * Commands that a client may send twice carry a key of the client's choice. The product remembers the outcome of each key as
 * state, like any other: `decide` looks the key up in the overlay and in the state that was read, returns without a write if it
 * is there, and else writes the state that the command makes and the outcome under its key. A refusal is an outcome as well.
 *
 * Loop's thread.
 */
#ifndef DECIDER_DECIDER_H
#define DECIDER_DECIDER_H

#include "base/metrics.h"
#include "decider/overlay.h"
#include "kafka/producer.h"

struct decider;

struct decider_command {
    const struct topic *topic;
    int32_t partition;
    int64_t offset;
    const void *item; /* what `read` has made of the record; aligned to 8 bytes */
};

/* A topic of state that is written and read back. */
struct decider_state {
    const struct topic *topic;
    size_t key_max, value_max; /* of its overlay's entries; the value may be another form than the record's */
};

/* Series of the product's names; they outlive the decider. */
struct decider_metrics {
    struct metric *commands;     /* counter: decided and committed, dead letters included */
    struct metric *queued;       /* gauge: read and not yet put into a transaction */
    struct metric *overlay;      /* gauge: entries that wait to be read back */
    struct metric *transactions; /* counters: committed, */
    struct metric *failed;       /* not committed, */
    struct metric *dead;         /* and records that were no command */
};

struct decider_options {
    uv_loop_t *loop;
    const struct kafka_settings *settings;
    struct log *log;
    struct metrics *registry; /* for the dead letters by topic; NULL: they are not counted by topic */
    struct decider_metrics metrics;
    const char *transactional_id;        /* copied; stays the same over restarts (decider/identity.h) */
    int32_t partitions;                  /* of each topic below: they are of one space */
    const struct topic *const *commands; /* this array, and the next, must outlive the decider */
    size_t command_count;
    const struct decider_state *states;
    size_t state_count;
    const struct topic *offsets; /* compacted; NULL: only the group keeps the offsets */
    size_t batch;                /* commands in one transaction at most */
    size_t item_size;            /* of what `read` makes of a record */
    size_t waiters;              /* decider_await: so many at once; 0: 10,000 */
    void *context;

    /* Fills `item` from a record, or says why it is no command: it goes to the dead letters for that reason. */
    int (*read)(void *context, const struct kafka_record *record, void *item, struct error *error);
    /* Decides commands in their order: those of one partition of one topic are in order of their offsets. The array may be
     * sorted in place, and is valid during the call only. An error aborts the transaction. */
    int (*decide)(void *context, struct decider_command *commands, size_t count, struct error *error);
    void (*on_handled)(void *context); /* commands were decided, or transactions can be made from now on */
    void (*on_reset)(void *context);   /* a transaction failed: what was begun must be begun again */
};

struct decider *decider_new(const struct decider_options *options);
/* Not while busy. Those who wait hear -ECANCELED. NULL is fine. */
void decider_free(struct decider *decider);

/* The consumer whose group owns the partitions, and to whose assignment the transactions are bound; NULL: none is there. */
void decider_set_consumer(struct decider *decider, struct kafka_consumer *consumer);

bool decider_ready(const struct decider *decider);      /* transactions can be made */
bool decider_busy(const struct decider *decider);       /* the worker thread is at it */
bool decider_committing(const struct decider *decider); /* a transaction is open, or being committed */

bool decider_failing(const struct decider *decider); /* several transactions in a row were not committed */

/* ---- the owner's part ---- */

/* The partition's commands are decided from that offset on, the higher of the group's and of the one in `offsets`; records
 * before it are passed by. All state that they may depend on has been read. */
void decider_begin(struct decider *decider, const struct topic *topic, int32_t partition, int64_t offset);
/* The assignment is gone, or what was begun must be begun again: drops the queue and the overlay, and gives up the transaction
 * that is open. Those who wait go on waiting: most partitions come back in a moment. */
void decider_revoke(struct decider *decider);
/* Another process owns that partition now: those who wait for commands in it hear -ESTALE. */
void decider_lost(struct decider *decider, int32_t partition);
/* No more transactions; the last is over when decider_busy is false. */
void decider_stop(struct decider *decider);

/* A record of a command topic, in order of offsets. Records of partitions that are not begun are passed by. */
void decider_take(struct decider *decider, const struct kafka_record *record);
void decider_run(struct decider *decider); /* decides what is queued, if it can now */
size_t decider_queued(const struct decider *decider);

/* All commands before this offset are decided and committed; -1: not begun. */
int64_t decider_handled(const struct decider *decider, const struct topic *topic, int32_t partition);

/* That partition of a state topic is read and applied up to `next`. */
void decider_read_back(struct decider *decider, const struct topic *topic, int32_t partition, int64_t next);

/* ---- the product's part, within decide ---- */

/* Writes a state record in the transaction. value NULL: a tombstone. 0 or a negative errno code, which decide returns. */
int decider_write(struct decider *decider, const struct topic *topic, int32_t partition, const void *key,
                  size_t key_size, const void *value, size_t value_size);
/* What was written to that state topic and not read back. overlay_put takes what decide has written to that topic; everything
 * else about it is the decider's. Also outside of decide, to look up what the next command will be decided by. */
struct overlay *decider_overlay(struct decider *decider, const struct topic *topic);

/* ---- those who wait for an outcome ---- */

/* Calls `done` once: with 0 when all commands up to and with that offset are decided, -ETIMEDOUT at the deadline (of
 * clock_monotonic_us), -ESTALE when another process owns the partition (decider_lost), or -ECANCELED when the decider is freed. Perhaps from within
 * this call. -EAGAIN: too many wait already; -EINVAL: no such partition. Then done is not called. */
int decider_await(struct decider *decider, const struct topic *topic, int32_t partition, int64_t offset,
                  int64_t deadline_us, void *context, void (*done)(void *context, int code));
/* Whoever waits with that context is not called any more. */
void decider_await_cancel(struct decider *decider, const void *context);

#endif
