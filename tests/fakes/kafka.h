/* Kafka in memory, for unit tests: all functions of kafka/consumer.h, kafka/producer.h and kafka/admin.h, and what a test says
 * about them. A test that includes this header is linked with it instead of lib/kafka's clients (CMake looks for the include:
 * run it again after adding one to a test that was there before).
 *
 *     fake_kafka_start();  fake_topic(...);  make clients;  fake_assign(...);  FAKE_UNTIL(&loop, what must become true);
 *     free the clients
 *
 * There is one broker and one group. Logs have offsets, transactions, markers that take an offset each, and a first offset;
 * readers see what is committed, up to the first open transaction. Assignments come when the test says so, from within
 * fake_assign and fake_revoke. Records and delivery reports come in turns of the loop. Calls of this header: the loop's thread,
 * which is the test's; what blocks (questions, the ends of transactions) may run on any thread. */
#pragma once

#include "kafka/admin.h"
#include "kafka/consumer.h"
#include "kafka/producer.h"

void fake_kafka_start(void);
void fake_kafka_stop(void); /* the end of a test does; all clients must have been freed */

/* ---- logs ---- */

void fake_topic(const struct topic *topic, int32_t partitions);
void fake_now(int64_t ms); /* the timestamp of what is written from now on; at first 1,000,000 */
/* Another client's write; returns the offset. value NULL: a tombstone. */
int64_t fake_append(const struct topic *topic, int32_t partition, const void *key, size_t key_size, const void *value,
                    size_t value_size);
void fake_append_marker(const struct topic *topic,
                        int32_t partition); /* another client's transaction has ended: an offset */
void fake_delete_before(const struct topic *topic, int32_t partition, int64_t first); /* as retention does */
/* Readers, and who asks for ends, meet a former leader that has been cut off from the others and does not know it: they see what is there
 * now, and nothing that is written from now on. False: the cut has healed. */
void fake_cut_off(const struct topic *topic, int32_t partition, bool cut_off);
int64_t fake_end(const struct topic *topic, int32_t partition);

struct fake_record {
    int64_t offset, timestamp;
    const uint8_t *key, *value; /* value NULL: a tombstone */
    size_t key_size, value_size;
    const char *reason; /* of a dead letter, else NULL; offset is then the record's in its own topic, as is partition */
    int32_t partition;
};
/* The records as readers see them: how many there are, and the n-th one. */
size_t fake_count(const struct topic *topic, int32_t partition);
struct fake_record fake_record_at(const struct topic *topic, int32_t partition, size_t n);
size_t fake_dead_count(const struct topic *topic);
struct fake_record fake_dead_at(const struct topic *topic, size_t n);

/* ---- the group ---- */

/* The consumers with a group that are there, in the order of their making; NULL: there are not so many. */
struct kafka_consumer *fake_member(size_t n);
/* A new generation of the group: on_revoked, if something was assigned, then on_assigned. */
void fake_assign(struct kafka_consumer *consumer, const struct kafka_position *owned, size_t count);
/* Partitions first to last of one topic. */
void fake_assign_range(struct kafka_consumer *consumer, const struct topic *topic, int32_t first, int32_t last);
void fake_revoke(struct kafka_consumer *consumer, bool lost);
void fake_fatal(struct kafka_consumer *consumer, const char *reason);
/* True: the consumer has called kafka_consumer_hand_over. *topic (may be NULL) is then the topic that it subscribed to instead. */
bool fake_handed_over(const struct kafka_consumer *consumer, const struct topic **topic);

/* Members that other processes have, as kafka_group_describe tells of them; count 0: it owns nothing. */
void fake_other_member(const char *id, const char *instance_id, const char *client_id,
                       const struct kafka_position *owned, size_t count);
void fake_other_leaves(const char *id);
void fake_group_state(const char *state); /* "Stable" at first; must outlive its use */

int64_t fake_committed(const struct topic *topic, int32_t partition); /* KAFKA_OFFSET_NONE: nothing is */
void fake_commit(const struct topic *topic, int32_t partition, int64_t offset);
void fake_delete_group(void);                       /* its committed offsets are gone */
void fake_session(int64_t session_ms, bool silent); /* 6,000 at first; silent: commits get no answer */

/* ---- trouble ---- */

enum fake_call {
    FAKE_CREATE,
    FAKE_VERIFY,
    FAKE_DESCRIBE,
    FAKE_COMMITTED, /* of a consumer or of an admin */
    FAKE_ENDS,
    FAKE_WATERMARKS,
    FAKE_OFFSETS_AT,
    FAKE_READ,
    FAKE_SEND,
    FAKE_INIT,
    FAKE_BEGIN,
    FAKE_TRANSACTION_COMMIT, /* fails before anything is committed: -EAGAIN, -ESTALE, -EIO */
    FAKE_ABORT,
    FAKE_CALLS
};
void fake_fail(enum fake_call call, int code, int times); /* the next ones fail */
int fake_calls(enum fake_call call);                      /* how many were made */
/* Closed: calls of that kind wait for the gate to open. For those that run on a worker thread. */
void fake_gate(enum fake_call call, bool closed);
int fake_waiting(enum fake_call call); /* at the gate now */

/* The next commit of a transaction gets no answer in time: it returns -ETIMEDOUT. committed: and yet it is; else it stays open
 * until another producer of its id begins. */
void fake_commit_unanswered(bool committed);

void fake_hold_reports(bool hold); /* delivery reports come once this ends */
/* So many of the next messages are reported as failed with that code; written: and yet they are in the log. */
void fake_fail_reports(int count, int code, bool written);

/* Turns the loop until the condition holds; fails the test after 20 s. */
#define FAKE_UNTIL(loop, condition)                                                                                    \
    do {                                                                                                               \
        int64_t fake_began_us_ = clock_monotonic_us();                                                                 \
        while (!(condition)) {                                                                                         \
            if (clock_monotonic_us() - fake_began_us_ > 20000000) fail_msg("never came: %s", #condition);              \
            fake_turn(loop);                                                                                           \
        }                                                                                                              \
    } while (0)
void fake_turn(uv_loop_t *loop); /* one turn, which waits for a few milliseconds at most */
