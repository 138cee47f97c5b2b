/* Shared by lib/kafka's clients; the only header that includes rdkafka.h. */
#pragma once

#include <librdkafka/rdkafka.h>

#include "kafka/consumer.h"

/* conf.c: a librdkafka configuration. Later pairs win: ours, the user's kafka.* (checked), `fixed` (what the code
 * relies on). Names that `fixed` or starling itself sets are refused among the user's. Ends with a NULL name. */
struct kafka_property {
    const char *name, *value;
};
/* librdkafka's one opaque pointer: the log for the callback that comes on its threads, the owner for the others. */
struct kafka_opaque {
    struct log *log;
    void *owner;
};
int kafka_conf_new(const struct kafka_settings *settings, const struct kafka_property *ours,
                   const struct kafka_property *fixed, struct kafka_opaque *opaque, rd_kafka_conf_t **conf,
                   struct error *error);

/* Takes conf whatever happens. */
int kafka_client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, rd_kafka_t **client, struct error *error);

/* librdkafka's code as a negative errno; 0 for none. */
int kafka_code(rd_kafka_resp_err_t err);

/* Writes "doing: librdkafka's words" and returns kafka_code(err). */
int kafka_failed(struct error *error, rd_kafka_resp_err_t err, const char *doing);

/* refusals.c: what Kafka, or the program's own table of topics, does not allow. Any thread. */
bool kafka_is_refusal(rd_kafka_resp_err_t err); /* an ACL is missing */
/* Tells what was refused, if err is a refusal: operation "Read", kind "topic" or "group". */
void kafka_refused(const struct kafka_settings *settings, rd_kafka_resp_err_t err, const char *operation,
                   const char *kind, const char *name);
/* True: the program's table says that it does so with the topic. Tells if not. */
bool kafka_allows(const struct kafka_settings *settings, const struct topic *topic, unsigned how);

/* waiting.c: time for calls that block; any thread. */
int64_t kafka_deadline_us(int timeout_ms);
int kafka_remaining_ms(int64_t deadline_us); /* 0 when passed */

/* The time of one question to leaders of partitions: librdkafka goes on asking the broker that it takes for the leader until that time is
 * over, also when that broker is dead or leads no more. */
int kafka_attempt_ms(int64_t deadline_us);
/* True: ask again, as a broker is just taking something over (a group, a partition of a new topic), and there is time left.
 * Sleeps shortly before it returns true. */
bool kafka_again(rd_kafka_resp_err_t err, int64_t deadline_us);
/* The same for a question to the leaders of these partitions. If they do not answer, the client first asks who leads their topics now,
 * for which it takes a second even when the time is over. */
bool kafka_leaders_again(rd_kafka_t *client, const rd_kafka_topic_partition_list_t *partitions, rd_kafka_resp_err_t err,
                         int64_t deadline_us);

/* The topic that a broker's name stands for; NULL: none of settings->topics. */
const struct topic *kafka_topic_of(const struct kafka_settings *settings, const char *name);

/* handles.c: a client's handles of topics, made when first needed and kept. A handle's opaque is the topic, so that a message's
 * topic is found without its name. */
enum { KAFKA_TOPICS_MAX = 32 }; /* of one client */
struct kafka_handles {
    rd_kafka_topic_t *items[KAFKA_TOPICS_MAX];
    const struct topic *topics[KAFKA_TOPICS_MAX];
    size_t count;
};
/* how: what the handle is for, TOPIC_READS or TOPIC_WRITES. NULL: the program does not do that with the topic, librdkafka refuses the
 * name, or there are too many topics. */
rd_kafka_topic_t *kafka_handles_get(struct kafka_handles *handles, rd_kafka_t *client,
                                    const struct kafka_settings *settings, const struct topic *topic, unsigned how);
void kafka_handles_free(struct kafka_handles *handles); /* before the client */

/* wake.c: has librdkafka's queues wake the loop. `fn` runs when a queue got something and, while
 * kafka_wake_again is on, each turn of the loop; `tick` once a second. */
struct kafka_wake;
struct kafka_wake *kafka_wake_new(uv_loop_t *loop, loop_fn *fn, loop_fn *tick, void *context);
void kafka_wake_queue(struct kafka_wake *wake, rd_kafka_queue_t *queue);
void kafka_wake_again(struct kafka_wake *wake, bool on);
void kafka_wake_free(struct kafka_wake *wake); /* queues must have been taken off by kafka_wake_forget */
void kafka_wake_forget(rd_kafka_queue_t *queue);

/* health.c: whether some broker answers. librdkafka says when all are gone but not when one is back, so while down this
 * asks the cluster something cheap, again and again. */
struct kafka_health;
struct kafka_health *kafka_health_new(rd_kafka_t *client, const struct kafka_settings *settings,
                                      struct kafka_wake *wake,
                                      void (*on_broker)(void *context, bool up, const char *reason), void *context);
void kafka_health_free(struct kafka_health *health); /* before the client */
void kafka_health_down(struct kafka_health *health, const char *reason);
void kafka_health_ask(struct kafka_health *health);  /* now, although it is up */
void kafka_health_poll(struct kafka_health *health); /* calls on_broker when there is news */
bool kafka_health_up(const struct kafka_health *health);
bool kafka_health_fatal(const struct kafka_health *health);         /* it never comes up again */
const char *kafka_health_reason(const struct kafka_health *health); /* why it is down */

/* An error_cb's or error event's code: what it says about health. */
void kafka_health_error(struct kafka_health *health, rd_kafka_t *client, rd_kafka_resp_err_t err, const char *reason);

/* membership.c: the consumer's membership in its group when it got its present assignment. It does not change when the consumer
 * becomes another member or is freed. The loop's thread takes and releases it; any thread may read it. */
struct kafka_membership;
struct kafka_membership *kafka_consumer_membership(struct kafka_consumer *consumer); /* NULL: it has no assignment */
const rd_kafka_consumer_group_metadata_t *kafka_membership_metadata(const struct kafka_membership *membership);
void kafka_membership_release(struct kafka_membership *membership);

/* Adds one position, its offset translated to librdkafka's. */
void kafka_list_add(rd_kafka_topic_partition_list_t *list, const struct kafka_settings *settings,
                    const struct kafka_position *position);
