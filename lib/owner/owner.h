/* The owner of partitions: the runtime of a daemon whose consumer group divides partitions of users (or subjects) among processes.
 *
 *     group's consumer ---- inputs, commands ----> owner ----> product: input()       effects, by its outbox
 *                                                    |   ----> decider                state records, in transactions
 *     changelogs ---------- states --------------> owner ----> product: state()       its store
 *
 * A partition that the group gives to this process goes through stages (owner/stages.h). The owner asks for its committed offsets and
 * for the ends of its state topics; of those that the decider writes it finds the ends by a fence (decider/decider.h). Then it reads its
 * state up to these ends in silence. Then the partition is live: inputs are handled, commands are decided, and changes of state are told.
 * Stand-bys keep a partition's state up to date, so that a take-over reads little. Everything that the product sends belongs to an epoch
 * (deliver/epochs.h); the owner commits an input's offset when the epoch in which it was handled is acknowledged.
 *
 * The product gives a table of callbacks and knows what its state means; the owner knows neither. All calls and callbacks: the
 * loop's thread.
 */
#pragma once

#include "base/metrics.h"
#include "deliver/epochs.h"
#include "kafka/consumer.h"
#include "owner/stages.h"

struct decider;
struct owner;

enum owner_role {
    OWNER_INPUT,   /* handled by the owner of a live partition, committed when its effects are acknowledged */
    OWNER_SHARED,  /* the same, and every process reads the partitions of others as well, to observe them */
    OWNER_COMMAND, /* goes to the decider, which commits its offsets in transactions */
    OWNER_STATE    /* read by owner and stand-bys into the product's store */
};

struct owner_topic {
    const struct topic *topic;
    enum owner_role role;
    bool aged; /* a state: owner_age_ms counts it */
};

/* Topics of a role are numbered from 0 in the order of options.topics: "state 1" is the second OWNER_STATE. Arrays of offsets have
 * one element a topic of the role. */
struct owner_product {
    /* A partition's state is going to be read: opens its store. from: where each state goes on, or KAFKA_OFFSET_BEGINNING. */
    int (*open)(void *context, int32_t partition, int64_t *from, struct error *error);
    void (*close)(void *context, int32_t partition);

    /* This process owns the open partition: it will be restored and then be live. told: by state, up to which offset the group
     * knows that effects were carried out; KAFKA_OFFSET_NONE: unknown. again: the product sets an offset here to read a state again
     * from there; it comes as KAFKA_OFFSET_NONE (do not). fresh: the partition was just opened and nothing was read yet. */
    void (*activate)(void *context, int32_t partition, bool fresh, const int64_t *told, int64_t *again);
    /* Another process owns the partition; this one keeps it up to date in silence, as a stand-by. */
    void (*stand_by)(void *context, int32_t partition);

    /* Records of states, of open partitions only. state_idle: there are no more for now. */
    void (*state)(void *context, const struct kafka_record *records, size_t count);
    void (*state_idle)(void *context);
    /* A state's offset is no longer in the topic: the product forgets that state. True: it then has nothing of the partition, which
     * must be restored once more. */
    bool (*state_lost)(void *context, size_t state, int32_t partition);

    /* Whether everything before these ends is in the store and can be read there. An end of 0: the topic's partition is empty. */
    bool (*reached)(void *context, int32_t partition, const int64_t *ends);
    /* How many records of a stand-by's partition were read but are not applied yet. */
    int64_t (*unapplied)(void *context, int32_t partition);
    void (*live)(void *context, int32_t partition); /* restored: from now on state() brings news */

    /* A record of an input; owned: its partition is live here. now_us: monotonic. */
    void (*input)(void *context, size_t input, const struct kafka_record *record, bool owned, int64_t now_us);
    /* Called before, during and after a batch of inputs: the product sends output that has waited long enough. */
    void (*flush_old)(void *context, int64_t now_us);
    /* There is no more input for now: sends the output that need not wait for more of it. Returns in how many ms it is to be called again
     * for the rest; 0: nothing waits. NULL: `flush` is called. */
    int64_t (*flush_ready)(void *context, int64_t now_us);
    void (*flush)(void *context);  /* sends all output: an epoch is going to be closed */
    void (*settle)(void *context); /* partitions change hands: handles held-back input, and sends all output */
    void (*lower)(
        void *context, size_t input,
        int64_t *offsets); /* by partition: lowers them to the first held-back record. NULL: nothing is held back */
    bool (*blocked)(void *context); /* offers blocked output once more; true: it is still blocked, and inputs wait */

    /* The state of the partitions that this process will own has been read, so it may join its group: the product calls owner_join, now
     * or later. */
    void (*prepared)(void *context);
    bool (*busy)(void *context);    /* the product's worker threads; NULL: it has none */
    void (*drained)(void *context); /* the end of owner_drain */
    void (*failed)(void *context, const char *doing, const struct error *error); /* there is no going on */
};

struct owner_options {
    uv_loop_t *loop;
    struct log *log;
    const struct kafka_settings *kafka;
    struct metrics *metrics;
    const char *prefix;      /* of metrics: "starling_router" */
    const char *group;       /* of consumers */
    const char *instance_id; /* "": dynamic */
    int32_t partitions;
    const struct owner_topic *topics;
    size_t topic_count;
    const struct topic
        *offsets; /* where the decider writes its progress; NULL: there is no decider. The group's offset of it is
                                  * committed as a sign of life where there are no inputs: nobody goes on from there */
    const struct topic *leaving; /* a state: members that hand their partitions over subscribe to it instead */
    size_t batch;                /* records of inputs handled in one go */
    size_t state_batch;
    size_t standbys; /* processes that stand by for a partition */
    bool hands_over; /* a static member gives its partitions away before it ends */
    size_t
        queue_max; /* commands: more than so many are not read ahead. Those that librdkafka has fetched beyond are fetched again later */
    size_t queue_bytes; /* the same in bytes of their records; 0: any */
    struct epochs *epochs;
    struct decider *decider; /* NULL: none. The owner frees neither. */
    const struct owner_product *product;
    void *context;
};

/* -EINVAL: the product names more than 16 topics of a role. */
int owner_new(const struct owner_options *options, struct owner **owner, struct error *error);
/* Starts to follow the group. prepared is called when this process may join it, perhaps from within. */
int owner_start(struct owner *owner, struct error *error);
void owner_free(struct owner *owner); /* not while busy; leaves the group; NULL is fine */
bool owner_busy(const struct owner *owner);

/* An input's partition begins at `next`, or at `first` where nothing was ever committed. Before owner_join. */
void owner_begin(struct owner *owner, size_t input, int32_t partition, int64_t first, int64_t next);
int owner_join(struct owner *owner, struct error *error);

void owner_second(struct owner *owner); /* once a second: epochs, commits, metrics */
void owner_tenth(struct owner *owner);  /* ten times a second: progress, and the end */

/* The orderly end: hands over if it should, stops inputs, waits for acknowledgements (10 s at most), calls drained. */
void owner_drain(struct owner *owner);
void owner_stop(struct owner *owner); /* takes no more input */

/* ---- what the product asks and says ---- */

bool owner_joined(const struct owner *owner);
bool owner_live(const struct owner *owner, int32_t partition);
bool owner_stands_by(const struct owner *owner, int32_t partition);
bool owner_restored(const struct owner *owner); /* it owns partitions, and all of them are live */

/* Whether a question about the partition may be answered. 0: yes; -ESTALE: another process owns the partition; -EAGAIN: not now (it is
 * being restored, or this process has not heard from the group for so long that another one may own it by now). */
int owner_serves(const struct owner *owner, int32_t partition);

/* The product has applied something, so a partition may have reached its next stage. */
void owner_progress(struct owner *owner);
void owner_commands_lost(struct owner *owner); /* the decider's on_reset: commands are begun anew */
void owner_effects_lost(struct owner *owner);  /* a batch was lost: inputs that are not settled are handled again */

/* A held-back record of an input was not handled after all: it is read again when the partition is live. */
void owner_lower(struct owner *owner, size_t input, int32_t partition, int64_t offset);

/* States, by number. All records before the position were handed over. */
int64_t owner_position(const struct owner *owner, size_t state, int32_t partition);
int64_t owner_state_lag(const struct owner *owner, size_t state, int32_t partition); /* records; -1: not known yet */
bool owner_reached(const struct owner *owner, size_t state, int32_t partition, int64_t end);
/* How old (ms) what is read of the states marked `aged` is at most: all that was acknowledged so long ago is read and applied. Several times
 * a second the owner asks where these topics end, and knows it when it has read so far; INT64_MAX: it does not know. */
int64_t owner_age_ms(const struct owner *owner, int32_t partition);
const int64_t *owner_ends(const struct owner *owner, int32_t partition); /* of one being restored; NULL: it is not */
int owner_read_again(struct owner *owner, size_t state, int32_t partition, int64_t offset, struct error *error);
/* The product has emptied its state of the partition, which must be read anew. */
void owner_restore_again(struct owner *owner, int32_t partition);

/* Commits how far the effects of states are carried out. The commit may be lost in a rebalance: repeat it later. */
void owner_commit(struct owner *owner, const struct kafka_position *positions, size_t count);

/* How long (ms) the oldest record of the inputs, over all partitions, may have waited. As of the last owner_tenth. */
int64_t owner_lag_ms(const struct owner *owner);
bool owner_commands_current(const struct owner *owner); /* no command waits */
bool owner_assigned(const struct owner *owner);         /* the group has given it what it owns */
bool owner_was_assigned(const struct owner *owner);     /* it has, at least once */
bool owner_ready(const struct owner *owner);            /* all that it owns is live, and its commands are decided */
