#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "kafka/admin_private.h"

enum { SETTINGS_MAX = 4, ALL = 2 * TOPICS, OPERATION_TIMEOUT_MS = 5000, RETRY_MS = 100 };

struct setting {
    const char *name, *value;
};

#define DAY "86400000"
#define WEEK "604800000"

/* DESIGN 2. Ends with a NULL name. */
static const struct setting SETTINGS[TOPICS][SETTINGS_MAX + 1] = {
    [TOPIC_LOCATIONS] = {{"cleanup.policy", "delete"},
                         {"retention.ms", DAY},
                         // Latency and the hour of history are counted from arrival, not from a phone's clock.
                         {"message.timestamp.type", "LogAppendTime"}},
    [TOPIC_FRIEND_COMMANDS] = {{"cleanup.policy", "delete"}, {"retention.ms", DAY}},
    [TOPIC_FRIENDSHIPS] = {{"cleanup.policy", "compact"}, {"delete.retention.ms", WEEK}},
    [TOPIC_PROFILES] = {{"cleanup.policy", "compact"}, {"delete.retention.ms", WEEK}},
    [TOPIC_SHARING] = {{"cleanup.policy", "compact"}, {"delete.retention.ms", WEEK}},
    // Whole segments are deleted, so they must be younger and smaller than what is kept.
    [TOPIC_DELIVERIES] = {{"cleanup.policy", "delete"},
                          {"retention.ms", "600000"},
                          {"segment.ms", "60000"},
                          {"segment.bytes", "67108864"}},
};
static const struct setting DEAD_SETTINGS[] = {{"cleanup.policy", "delete"}, {"retention.ms", WEEK}, {NULL, NULL}};

/* What is wanted and what is there, of all topics and then of all their dead letter queues. */
struct shape {
    struct {
        char *name;
        const struct setting *settings;
        int wanted; /* partitions */
        int there;  /* 0: no such topic */
    } topics[ALL];
};

static int wanted_partitions(const struct topics_plan *plan, int index) {
    if (index >= TOPICS) return 1; // a dead letter queue: few records, and one place to look at
    return index == TOPIC_DELIVERIES ? plan->delivery_partitions : plan->partitions;
}

static void shape_start(struct shape *shape, const struct kafka_settings *settings, const struct topics_plan *plan) {
    for (int i = 0; i < ALL; i++) {
        shape->topics[i].name = topic_full_name(settings, (enum topic)(i % TOPICS), i >= TOPICS);
        shape->topics[i].settings = i < TOPICS ? SETTINGS[i] : DEAD_SETTINGS;
        shape->topics[i].wanted = plan ? wanted_partitions(plan, i) : 0;
        shape->topics[i].there = 0;
    }
}

static void shape_clear(struct shape *shape) {
    for (int i = 0; i < ALL; i++) free(shape->topics[i].name);
}

static int shape_read(struct shape *shape, struct kafka_admin *admin, int64_t deadline, struct error *error) {
    const struct rd_kafka_metadata *metadata = NULL;
    int code = kafka_admin_open(admin, error);
    if (code) return code;
    rd_kafka_resp_err_t err = rd_kafka_metadata(admin->client, 1, NULL, &metadata, kafka_remaining_ms(deadline));
    if (err) return kafka_admin_failed(error, err, "asking the broker for its topics");
    for (int i = 0; i < ALL; i++) {
        shape->topics[i].there = 0;
        for (int t = 0; t < metadata->topic_cnt; t++) {
            if (strcmp(metadata->topics[t].topic, shape->topics[i].name)) continue;
            shape->topics[i].there = metadata->topics[t].partition_cnt;
        }
    }
    rd_kafka_metadata_destroy(metadata);
    return 0;
}

static rd_kafka_NewTopic_t *new_topic(const struct shape *shape, int index, int replication) {
    char unused[64];
    rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(shape->topics[index].name, shape->topics[index].wanted,
                                                       replication, unused, sizeof unused);
    for (const struct setting *s = shape->topics[index].settings; topic && s->name; s++) {
        rd_kafka_NewTopic_set_config(topic, s->name, s->value);
    }
    return topic;
}

static int create_missing(struct shape *shape, struct kafka_admin *admin, int replication, int64_t deadline,
                          struct error *error) {
    rd_kafka_NewTopic_t *topics[ALL];
    size_t count = 0;
    int code = 0;
    for (int i = 0; !code && i < ALL; i++) {
        if (shape->topics[i].there) continue;
        rd_kafka_NewTopic_t *topic = new_topic(shape, i, replication);
        if (topic) {
            topics[count++] = topic;
        } else {
            code = error_set(error, -EINVAL, "%s cannot have %d partitions in %d replicas", shape->topics[i].name,
                             shape->topics[i].wanted, replication);
        }
    }
    if (code || !count) goto finish;
    struct kafka_request request = kafka_request_new(admin, RD_KAFKA_ADMIN_OP_CREATETOPICS, deadline);
    char unused[64];
    rd_kafka_AdminOptions_set_operation_timeout(request.options, OPERATION_TIMEOUT_MS, unused, sizeof unused);
    rd_kafka_CreateTopics(admin->client, topics, count, request.options, request.queue);
    rd_kafka_event_t *event = kafka_request_finish(&request, deadline, "creating topics", &code, error);
    if (!event) goto finish;
    size_t answers = 0;
    const rd_kafka_topic_result_t **results =
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &answers);
    for (size_t i = 0; !code && i < answers; i++) {
        rd_kafka_resp_err_t err = rd_kafka_topic_result_error(results[i]);
        if (!err || err == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) continue; // somebody else was faster
        const char *said = rd_kafka_topic_result_error_string(results[i]);
        code = kafka_code(err);
        error_set(error, code, "creating %s: %s", rd_kafka_topic_result_name(results[i]),
                  said ? said : rd_kafka_err2str(err));
    }
    rd_kafka_event_destroy(event);
finish:
    rd_kafka_NewTopic_destroy_array(topics, count);
    return code;
}

/* Until every broker that we ask knows the new topics. */
static int wait_for_all(struct shape *shape, struct kafka_admin *admin, int64_t deadline, struct error *error) {
    for (;;) {
        int code = shape_read(shape, admin, deadline, error);
        int missing = -1;
        for (int i = 0; !code && i < ALL; i++) {
            if (!shape->topics[i].there) missing = i;
        }
        if (code || missing < 0) return code;
        if (!kafka_remaining_ms(deadline)) {
            return error_set(error, -ENOENT, "%s was created and does not show", shape->topics[missing].name);
        }
        nanosleep(&(struct timespec){.tv_sec = 0, .tv_nsec = RETRY_MS * 1000000L}, NULL);
    }
}

static const char *value_of(const struct setting *settings, const char *name) {
    for (const struct setting *s = settings; s->name; s++) {
        if (!strcmp(s->name, name)) return s->value;
    }
    return NULL;
}

/* The change that gives a topic its settings; NULL when it has them. The request replaces everything that is set on the
 * topic, so what an operator has set beside ours goes into it as well. */
static rd_kafka_ConfigResource_t *change_of(const struct setting *settings, const rd_kafka_ConfigResource_t *there) {
    size_t count = 0;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(there, &count);
    rd_kafka_ConfigResource_t *change =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, rd_kafka_ConfigResource_name(there));
    size_t wanted = 0, alike = 0;
    for (const struct setting *s = settings; s->name; s++, wanted++) {
        rd_kafka_ConfigResource_set_config(change, s->name, s->value);
    }
    for (size_t i = 0; i < count; i++) {
        if (rd_kafka_ConfigEntry_source(entries[i]) != RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG) continue;
        const char *name = rd_kafka_ConfigEntry_name(entries[i]), *value = rd_kafka_ConfigEntry_value(entries[i]);
        const char *ours = value_of(settings, name);
        if (ours) {
            alike += value && !strcmp(ours, value);
        } else if (value) {
            rd_kafka_ConfigResource_set_config(change, name, value);
        }
    }
    if (alike < wanted) return change;
    rd_kafka_ConfigResource_destroy(change);
    return NULL;
}

static const struct setting *settings_of(const struct shape *shape, const char *name) {
    for (int i = 0; i < ALL; i++) {
        if (!strcmp(shape->topics[i].name, name)) return shape->topics[i].settings;
    }
    return NULL;
}

static int alter(struct kafka_admin *admin, rd_kafka_ConfigResource_t **changes, size_t count, int64_t deadline,
                 struct error *error) {
    struct kafka_request request = kafka_request_new(admin, RD_KAFKA_ADMIN_OP_ALTERCONFIGS, deadline);
    rd_kafka_AlterConfigs(admin->client, changes, count, request.options, request.queue);
    int code = 0;
    rd_kafka_event_t *event = kafka_request_finish(&request, deadline, "changing the settings of topics", &code, error);
    if (!event) return code;
    size_t answers = 0;
    const rd_kafka_ConfigResource_t **results =
        rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event), &answers);
    for (size_t i = 0; !code && i < answers; i++) {
        rd_kafka_resp_err_t err = rd_kafka_ConfigResource_error(results[i]);
        if (err) code = kafka_admin_failed(error, err, rd_kafka_ConfigResource_name(results[i]));
    }
    rd_kafka_event_destroy(event);
    return code;
}

static int settle(struct shape *shape, struct kafka_admin *admin, int64_t deadline, struct error *error) {
    rd_kafka_ConfigResource_t *asked[ALL], *changes[ALL];
    size_t change_count = 0;
    for (int i = 0; i < ALL; i++) {
        asked[i] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, shape->topics[i].name);
    }
    struct kafka_request request = kafka_request_new(admin, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, deadline);
    rd_kafka_DescribeConfigs(admin->client, asked, ALL, request.options, request.queue);
    int code = 0;
    rd_kafka_event_t *event =
        kafka_request_finish(&request, deadline, "asking for the settings of topics", &code, error);
    if (!event) goto finish;
    size_t answers = 0;
    const rd_kafka_ConfigResource_t **results =
        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &answers);
    for (size_t i = 0; !code && i < answers; i++) {
        rd_kafka_resp_err_t err = rd_kafka_ConfigResource_error(results[i]);
        const char *name = rd_kafka_ConfigResource_name(results[i]);
        const struct setting *settings = settings_of(shape, name);
        if (err) code = kafka_admin_failed(error, err, name);
        rd_kafka_ConfigResource_t *change = err || !settings ? NULL : change_of(settings, results[i]);
        if (change) changes[change_count++] = change;
    }
    rd_kafka_event_destroy(event);
    if (!code && change_count) code = alter(admin, changes, change_count, deadline, error);
finish:
    rd_kafka_ConfigResource_destroy_array(asked, ALL);
    rd_kafka_ConfigResource_destroy_array(changes, change_count);
    return code;
}

int kafka_topics_create(struct kafka_admin *admin, const struct topics_plan *plan, int timeout_ms,
                        struct error *error) {
    int64_t deadline = kafka_deadline_us(timeout_ms);
    struct shape shape;
    shape_start(&shape, admin->settings, plan);
    int code = shape_read(&shape, admin, deadline, error);
    for (int i = 0; !code && i < TOPICS; i++) {
        if (!shape.topics[i].there || shape.topics[i].there == shape.topics[i].wanted) continue;
        code = error_set(error, -EINVAL, "%s has %d partitions, not %d: a topic's partitions are never changed",
                         shape.topics[i].name, shape.topics[i].there, shape.topics[i].wanted);
    }
    if (!code) code = create_missing(&shape, admin, plan->replication, deadline, error);
    if (!code) code = wait_for_all(&shape, admin, deadline, error);
    if (!code) code = settle(&shape, admin, deadline, error);
    shape_clear(&shape);
    return code;
}

/* All names that are missing, or all counts that must be equal, in one reason. */
static int judge(const struct shape *shape, struct topics_shape *out, struct error *error) {
    struct buffer missing = {.data = NULL, .size = 0, .capacity = 0}, counts = {.data = NULL, .size = 0, .capacity = 0};
    bool differ = false;
    for (int i = 0; i < TOPICS; i++) {
        if (!shape->topics[i].there) buffer_format(&missing, "%s%s", missing.size ? ", " : "", shape->topics[i].name);
        if (i == TOPIC_DELIVERIES) continue;
        buffer_format(&counts, "%s%s has %d", counts.size ? ", " : "", shape->topics[i].name, shape->topics[i].there);
        if (shape->topics[i].there != shape->topics[TOPIC_LOCATIONS].there) differ = true;
    }
    int code = 0;
    if (missing.size) {
        code =
            error_set(error, -ENOENT, "no such topic: %s (made by `starling topics create`)", buffer_cstring(&missing));
    } else if (differ) {
        code = error_set(error, -EINVAL, "topics that must have the same number of partitions differ: %s",
                         buffer_cstring(&counts));
    } else {
        *out = (struct topics_shape){.partitions = shape->topics[TOPIC_LOCATIONS].there,
                                     .delivery_partitions = shape->topics[TOPIC_DELIVERIES].there};
    }
    buffer_free(&missing);
    buffer_free(&counts);
    return code;
}

int kafka_topics_verify(struct kafka_admin *admin, struct topics_shape *out, int timeout_ms, struct error *error) {
    struct shape shape;
    shape_start(&shape, admin->settings, NULL);
    int code = shape_read(&shape, admin, kafka_deadline_us(timeout_ms), error);
    if (!code) code = judge(&shape, out, error);
    shape_clear(&shape);
    return code;
}
