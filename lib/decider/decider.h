/* Decides commands, each one exactly once, whatever fails. The product says how to decide; this library writes the decisions and the
 * offset of the last decided command in one Kafka transaction.
 *
 *     records of command topics --> read --> queue --> decide, a slice at a time --> transaction {
 *                                    |                    ^      |                      state records (decider_write)
 *                                    v                    |      v                      dead letters
 *                               dead letter               +- overlay, until read back   the commands' next offsets
 *                                                                                    } --> commit, on a thread of its own
 *
 * The product gives two functions. `read` decodes and checks one record. `decide` gets commands and looks up the state that decides
 * them: first in the overlay (state that was written and has not been read back yet), then in the product's store of its state
 * topics. It writes the new state with decider_write and puts it into the overlay. It must have no other effect, because a
 * transaction may be aborted and its commands decided again.
 *
 * A transaction that fails drops the queue and the overlay and calls on_reset. The owner then begins every partition again
 * (decider_begin), from its committed offset, when it has read the state topics to their ends. A new assignment of the group does
 * the same by decider_revoke.
 *
 * Each transaction also writes to the topic `offsets` how far each partition's commands are decided (command_offset.h reads the
 * record). Kafka forgets the committed offsets of a group that is unused or deleted. The owner begins from the higher of the two
 * offsets, so that no command is decided twice. An offset beyond the end of the topic of commands does not count: that topic has
 * been made anew since.
 *
 * Commands that a client may send twice carry a key of the client's choice. The product remembers the outcome of each key as
 * state, like any other: `decide` looks the key up in the overlay and in the state that was read, returns without a write if it
 * is there, and else writes the state that the command makes and the outcome under its key. A refusal is an outcome as well.
 *
 * Where most records of a topic of commands change nothing that lasts, the product says so, and pays for the others alone. `wanted` passes
 * records by unread. `held` keeps what is committed below a record whose outcome is in the product's memory only, until the product writes
 * that. A transaction in which nothing is written then stays open, and once a second it is committed, if positions have moved on.
 *
 * Loop's thread.
 */
#pragma once

#include "base/metrics.h"
#include "decider/overlay.h"
#include "kafka/producer.h"

struct decider;

struct decider_command {
    const struct topic *topic;
    int32_t partition;
    int64_t offset;
    const void *item; /* the record as `read` has decoded it; aligned to 8 bytes */
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

/* The series PREFIX_commands_total, PREFIX_commands_queued and so on. */
struct decider_metrics decider_metrics_of(struct metrics *registry, const char *prefix);

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
    size_t item_size;            /* bytes of a decoded record */
    void (*release)(
        void *item); /* frees what an item points to, decided or not. NULL: it points to nothing of its own */
    size_t waiters;  /* decider_await: so many at once; 0: 10,000 */
    void *context;

    /* NULL: all records are. Asked in order of offsets, before a record is read; false: it is no command, and is passed by. */
    bool (*wanted)(void *context, const struct kafka_record *record);
    /* NULL: what is decided is committed. Else what is committed is the first command that waits to be decided (if none does: the next record
     * that will be taken), or this, if it is lower: the first one that is decided and must be decided again, should the process end
     * now. INT64_MAX: there is none. */
    int64_t (*held)(void *context, const struct topic *topic, int32_t partition);
    /* With `held`: the transaction is about to be committed, and the product writes what else belongs to it. */
    int (*finish)(void *context, struct error *error);
    /* Fills `item` from a record, or says why it is no command: it goes to the dead letters for that reason. */
    int (*read)(void *context, const struct kafka_record *record, void *item, struct error *error);
    /* Decides commands in their order: commands of one partition of one topic come in order of their offsets. decide may sort the array
     * in place; it is valid during the call only. An error aborts the transaction. */
    int (*decide)(void *context, struct decider_command *commands, size_t count, struct error *error);
    void (*on_handled)(void *context); /* commands were decided, or transactions can be made from now on */
    void (*on_reset)(void *context);   /* a transaction failed: all partitions must be begun again */
    void (*on_forget)(
        void *context); /* the queue and the overlays are dropped, and partitions will be begun anew. NULL is fine */
};

struct decider *decider_new(const struct decider_options *options);
/* Not while busy. Waiters get -ECANCELED. NULL is fine. */
void decider_free(struct decider *decider);

/* The consumer whose group owns the partitions. Transactions are bound to its assignment. NULL: there is none. */
void decider_set_consumer(struct decider *decider, struct kafka_consumer *consumer);

bool decider_ready(const struct decider *decider);      /* transactions can be made */
bool decider_busy(const struct decider *decider);       /* the worker thread is at it */
bool decider_committing(const struct decider *decider); /* a transaction is open, or being committed */

/* ---- the owner's part ---- */

/* Begins to decide the partition's commands from that offset on, the higher of the group's offset and the one in `offsets`. Records
 * before it are skipped. The caller has read all state on which the commands may depend. end: where the topic ended a moment ago. */
void decider_begin(struct decider *decider, const struct topic *topic, int32_t partition, int64_t offset, int64_t end);
/* The assignment is gone, or all partitions must be begun again: drops the queue and the overlay, and gives up the open transaction.
 * Waiters go on waiting, because most partitions come back in a moment. */
void decider_revoke(struct decider *decider);
/* Another process owns that partition now: waiters for its commands get -ESTALE. */
void decider_lost(struct decider *decider, int32_t partition);
/* No more transactions; the last is over when decider_busy is false. */
void decider_stop(struct decider *decider);

/* Finds where the partitions of all states end, although a broker that is cut off from the others may still take itself for their
 * leader, and names ends that lie before what its successor has acknowledged. Only the leader gets a record acknowledged by all replicas:
 * one is written to each partition, in a transaction that is given up. 0, and done is called with 0 (decider_end knows) or -EAGAIN (try
 * again); -EAGAIN: not now. */
int decider_fence(struct decider *decider, const int32_t *partitions, size_t count, void *context,
                  void (*done)(void *context, int code));
/* Up to where that partition of a state must be read to know what this process, or a fence of it, has found acknowledged last; -1:
 * decisions do not write that topic. */
int64_t decider_end(const struct decider *decider, const struct topic *topic, int32_t partition);

/* Once a second, if `held` is given. */
void decider_second(struct decider *decider);

/* Takes a record of a command topic, in order of offsets. Records of partitions that are not begun are skipped. */
void decider_take(struct decider *decider, const struct kafka_record *record);
void decider_run(struct decider *decider); /* decides queued commands, if it can now */
size_t decider_queued(const struct decider *decider);
size_t decider_queued_bytes(const struct decider *decider); /* of these commands' records */

/* All commands before this offset are decided and committed; -1: not begun. */
int64_t decider_handled(const struct decider *decider, const struct topic *topic, int32_t partition);

/* The next record that will be taken: all before are queued, decided, or passed by. -1: not begun. */
int64_t decider_next(const struct decider *decider, const struct topic *topic, int32_t partition);
/* Where the topic ended when the partition was begun: state that names a later offset is of a topic that was there before. -1: not begun. */
int64_t decider_topic_end(const struct decider *decider, const struct topic *topic, int32_t partition);
/* With `held`: no record before this one will be read again. -1: not begun. */
int64_t decider_committed(const struct decider *decider, const struct topic *topic, int32_t partition);

/* That partition of a state topic is read and applied up to `next`. */
void decider_read_back(struct decider *decider, const struct topic *topic, int32_t partition, int64_t next);

/* ---- the product's part, within decide ---- */

/* Writes a state record in the transaction. value NULL: a tombstone. 0 or a negative errno code, which decide returns. */
int decider_write(struct decider *decider, const struct topic *topic, int32_t partition, const void *key,
                  size_t key_size, const void *value, size_t value_size);
/* The state that was written to that topic and has not been read back. decide calls overlay_put for each record that it writes to
 * the topic; the decider does everything else. May also be read outside of decide, to look up the state that the next command
 * will see. */
struct overlay *decider_overlay(struct decider *decider, const struct topic *topic);

/* ---- waiters for an outcome ---- */

/* Calls `done` once: with 0 when all commands up to and with that offset are decided, -ETIMEDOUT at the deadline (of
 * clock_monotonic_us), -EMSGSIZE when this command is refused, as its topic does not take what it would
 * change, -ESTALE when another process owns the partition (decider_lost), or -ECANCELED when the decider is freed. Perhaps from within
 * this call. -EAGAIN: too many wait already; -EINVAL: no such partition. Then done is not called. */
int decider_await(struct decider *decider, const struct topic *topic, int32_t partition, int64_t offset,
                  int64_t deadline_us, void *context, void (*done)(void *context, int code));
