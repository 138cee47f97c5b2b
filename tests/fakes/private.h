/* The fake broker's insides. `fake.lock` guards everything here but what a client's loop alone uses. */
#pragma once

#include <pthread.h>

#include "fakes/kafka.h"

enum fake_state { RECORD_OPEN, RECORD_COMMITTED, RECORD_HIDDEN }; /* hidden: aborted, or a marker */

struct fake_entry {
    enum fake_state state;
    uint64_t transaction; /* 0: none */
    int64_t timestamp;
    uint8_t *key, *value;
    size_t key_size, value_size;
    char *reason;           /* of a dead letter */
    int32_t dead_partition; /* where it was */
    int64_t dead_offset;
};

struct fake_log {
    const struct topic *topic;
    int32_t partition;
    bool dead;
    int64_t first;     /* what is before it has been deleted */
    int64_t committed; /* of the group */
    int64_t pending;   /* offset in the open transaction `pending_in`; NONE */
    uint64_t pending_in;
    bool cut_off; /* readers ask a former leader, which has the records before `known` */
    int64_t known;
    struct fake_entry **entries; /* by offset */
    size_t count, capacity;
};

/* A transactional id. */
struct fake_id {
    char *name;
    uint64_t epoch;
    uint64_t transaction; /* open; 0: none */
    struct fake_id *next;
};

struct fake_other {
    struct kafka_member member;
    struct fake_other *next;
};

struct fake_kafka {
    pthread_mutex_t lock;
    pthread_cond_t gates;
    bool started;
    struct fake_log **logs;
    size_t log_count;
    struct fake_id *ids;
    uint64_t transactions;
    int64_t now_ms;
    struct kafka_consumer *consumers; /* the newest first */
    uint64_t consumer_numbers, generations;
    int clients;
    struct fake_other *others;
    const char *group_state;
    struct {
        int code, times, calls, waiting;
        bool closed;
    } calls[FAKE_CALLS];
    bool unanswered, unanswered_committed;
    bool reports_held;
    int failing_reports, failing_code;
    bool failing_written;
    bool silent; /* the group does not answer commits */
    int64_t session_us;
};

extern struct fake_kafka fake;

static inline void fake_lock(void) { pthread_mutex_lock(&fake.lock); }
static inline void fake_unlock(void) { pthread_mutex_unlock(&fake.lock); }

/* To be called first by each function that can be told to fail. Not under the lock. */
int fake_enter(enum fake_call call, struct error *error);

/* Under the lock: */
struct fake_log *fake_log_find(const struct topic *topic, int32_t partition, bool dead); /* NULL: there is none */
int32_t fake_partitions(const struct topic *topic);                                      /* 0: no such topic */
int64_t fake_log_append(struct fake_log *log, struct fake_entry entry); /* copies key, value and reason */
int64_t fake_log_end(const struct fake_log *log);                       /* as the broker that is asked knows it */
int64_t fake_log_stable(const struct fake_log *log);                    /* the first open record, or the end */
void fake_transaction_end(struct fake_id *id, bool commit);
struct fake_id *fake_id_of(const char *name);

/* A consumer's transactions are bound to this. */
struct fake_membership {
    uint64_t consumer, generation; /* generation 0: nothing was assigned */
};
struct fake_membership fake_membership_of(const struct kafka_consumer *consumer);
bool fake_membership_holds(const struct fake_membership *membership);
