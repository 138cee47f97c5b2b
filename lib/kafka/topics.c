#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "kafka/admin_private.h"

enum { OPERATION_TIMEOUT_MS = 5000, RETRY_MS = 100, NAMED_MAX = 5 };

/* One topic or one dead letter queue: as it is wanted, and as it is there. */
struct item {
    const struct topic *topic;
    bool dead_letters;
    char *name;
    struct topic_setting settings[TOPIC_SETTINGS_MAX];
    size_t setting_count;
    int wanted;   /* partitions */
    int there;    /* 0: no such topic */
    bool refused; /* the program may not ask for it */
};

/* The topics of a list, and then their dead letter queues. */
struct shape {
    struct item *items;
    size_t topics, count;
};

static int wanted_partitions(const struct topics_plan *plan, const struct item *item) {
    return item->dead_letters ? 1 : plan->partitions[item->topic->space]; // few records, and one place to look at
}

static void shape_start(struct shape *shape, const struct kafka_settings *settings, const struct topic_list *topics,
                        const struct topics_plan *plan) {
    *shape = (struct shape){.topics = topics->count, .count = topics->count * 2};
    shape->items = mem_zero(shape->count ? shape->count : 1, sizeof *shape->items);
    for (size_t i = 0; i < shape->count; i++) {
        struct item *item = &shape->items[i];
        item->topic = topics->items[i % topics->count];
        item->dead_letters = i >= topics->count;
        item->name = topic_full_name(settings, item->topic, item->dead_letters);
        item->setting_count =
            topic_settings(item->topic, item->dead_letters, plan ? plan->min_insync : 0, item->settings);
        if (plan && plan->copies && !item->dead_letters) topic_settings_of_copy(item->settings, &item->setting_count);
        item->wanted = plan ? wanted_partitions(plan, item) : 0;
    }
}

static void shape_clear(struct shape *shape) {
    for (size_t i = 0; i < shape->count; i++) free(shape->items[i].name);
    free(shape->items);
}

static int shape_read(struct shape *shape, struct kafka_admin *admin, int64_t deadline, struct error *error) {
    const struct rd_kafka_metadata *metadata = NULL;
    int code = kafka_admin_open(admin, error);
    if (code) return code;
    rd_kafka_resp_err_t err = rd_kafka_metadata(admin->client, 1, NULL, &metadata, kafka_remaining_ms(deadline));
    if (err) return kafka_admin_unreachable(admin, err, "asking the broker for its topics", error);
    kafka_admin_reached(admin);
    for (size_t i = 0; i < shape->count; i++) {
        shape->items[i].there = 0;
        for (int t = 0; t < metadata->topic_cnt; t++) {
            if (!strcmp(metadata->topics[t].topic, shape->items[i].name))
                shape->items[i].there = metadata->topics[t].partition_cnt;
        }
    }
    rd_kafka_metadata_destroy(metadata);
    return 0;
}

/* A broker that is asked for all topics leaves those out that the program may not see. Asked for one by name it says so. */
static void shape_ask_for_missing(struct shape *shape, struct kafka_admin *admin, int64_t deadline) {
    for (size_t i = 0; i < shape->topics; i++) {
        struct item *item = &shape->items[i];
        const struct rd_kafka_metadata *metadata = NULL;
        rd_kafka_topic_t *topic = item->there ? NULL : rd_kafka_topic_new(admin->client, item->name, NULL);
        if (!topic) continue;
        if (!rd_kafka_metadata(admin->client, 0, topic, &metadata, kafka_remaining_ms(deadline))) {
            for (int t = 0; t < metadata->topic_cnt; t++)
                if (!strcmp(metadata->topics[t].topic, item->name))
                    item->refused = kafka_is_refusal(metadata->topics[t].err);
            rd_kafka_metadata_destroy(metadata);
        }
        rd_kafka_topic_destroy(topic);
    }
}

static rd_kafka_NewTopic_t *new_topic(const struct item *item, int replication) {
    char unused[64];
    rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(item->name, item->wanted, replication, unused, sizeof unused);
    for (size_t s = 0; topic && s < item->setting_count; s++)
        rd_kafka_NewTopic_set_config(topic, item->settings[s].name, item->settings[s].value);
    return topic;
}

static int create_missing(struct shape *shape, struct kafka_admin *admin, int replication, int64_t deadline,
                          struct error *error) {
    rd_kafka_NewTopic_t **topics = mem_zero(shape->count + 1, sizeof *topics);
    size_t count = 0;
    int code = 0;
    for (size_t i = 0; !code && i < shape->count; i++) {
        const struct item *item = &shape->items[i];
        if (item->there) continue;
        rd_kafka_NewTopic_t *topic = new_topic(item, replication);
        if (topic)
            topics[count++] = topic;
        else
            code = error_set(error, -EINVAL, "%s cannot have %d partitions in %d replicas", item->name, item->wanted,
                             replication);
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
    free(topics);
    return code;
}

static void rest(void) { nanosleep(&(struct timespec){.tv_sec = 0, .tv_nsec = RETRY_MS * 1000000L}, NULL); }

/* Until every broker that we ask knows the new topics. */
static int wait_for_all(struct shape *shape, struct kafka_admin *admin, int64_t deadline, struct error *error) {
    for (;;) {
        int code = shape_read(shape, admin, deadline, error);
        const struct item *missing = NULL;
        for (size_t i = 0; !code && i < shape->count; i++)
            if (!shape->items[i].there) missing = &shape->items[i];
        if (code || !missing) return code;
        if (!kafka_remaining_ms(deadline))
            return error_set(error, -ENOENT, "%s was created and does not show", missing->name);
        rest();
    }
}

static const char *value_of(const struct item *item, const char *name) {
    for (size_t s = 0; s < item->setting_count; s++)
        if (!strcmp(item->settings[s].name, name)) return item->settings[s].value;
    return NULL;
}

/* The change that gives a topic its settings; NULL when it has them. The request replaces everything that is set on the
 * topic, so what an operator has set beside ours goes into it as well. */
static rd_kafka_ConfigResource_t *change_of(const struct item *item, const rd_kafka_ConfigResource_t *there) {
    size_t count = 0;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(there, &count);
    rd_kafka_ConfigResource_t *change =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, rd_kafka_ConfigResource_name(there));
    size_t alike = 0;
    for (size_t s = 0; s < item->setting_count; s++)
        rd_kafka_ConfigResource_set_config(change, item->settings[s].name, item->settings[s].value);
    for (size_t i = 0; i < count; i++) {
        if (rd_kafka_ConfigEntry_source(entries[i]) != RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG) continue;
        const char *name = rd_kafka_ConfigEntry_name(entries[i]), *value = rd_kafka_ConfigEntry_value(entries[i]);
        const char *ours = value_of(item, name);
        if (ours) {
            alike += value && !strcmp(ours, value);
        } else if (value) {
            rd_kafka_ConfigResource_set_config(change, name, value);
        }
    }
    if (alike < item->setting_count) return change;
    rd_kafka_ConfigResource_destroy(change);
    return NULL;
}

static const struct item *item_of(const struct shape *shape, const char *name) {
    for (size_t i = 0; i < shape->count; i++)
        if (!strcmp(shape->items[i].name, name)) return &shape->items[i];
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

static int settle_once(struct shape *shape, struct kafka_admin *admin, int64_t deadline, struct error *error) {
    rd_kafka_ConfigResource_t **asked = mem_zero(shape->count + 1, sizeof *asked);
    rd_kafka_ConfigResource_t **changes = mem_zero(shape->count + 1, sizeof *changes);
    size_t change_count = 0;
    for (size_t i = 0; i < shape->count; i++)
        asked[i] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, shape->items[i].name);
    struct kafka_request request = kafka_request_new(admin, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, deadline);
    rd_kafka_DescribeConfigs(admin->client, asked, shape->count, request.options, request.queue);
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
        const struct item *item = item_of(shape, name);
        if (err) code = kafka_admin_failed(error, err, name);
        rd_kafka_ConfigResource_t *change = err || !item ? NULL : change_of(item, results[i]);
        if (change) changes[change_count++] = change;
    }
    rd_kafka_event_destroy(event);
    if (!code && change_count) code = alter(admin, changes, change_count, deadline, error);
finish:
    rd_kafka_ConfigResource_destroy_array(asked, shape->count);
    rd_kafka_ConfigResource_destroy_array(changes, change_count);
    free(asked);
    free(changes);
    return code;
}

/* Another broker may be asked than the one that showed the new topics, and not know them yet. */
static int settle(struct shape *shape, struct kafka_admin *admin, int64_t deadline, struct error *error) {
    int code;
    while ((code = settle_once(shape, admin, deadline, error)) == -ENOENT && kafka_remaining_ms(deadline)) rest();
    return code;
}

int kafka_topics_create(struct kafka_admin *admin, const struct topics_plan *plan, int timeout_ms,
                        struct error *error) {
    int64_t deadline = kafka_deadline_us(timeout_ms);
    struct shape shape;
    shape_start(&shape, admin->settings, plan->topics, plan);
    int code = shape_read(&shape, admin, deadline, error);
    for (size_t i = 0; !code && i < shape.topics; i++) {
        const struct item *item = &shape.items[i];
        if (!item->there || item->there == item->wanted) continue;
        code = error_set(error, -EINVAL, "%s has %d partitions, not %d: a topic's partitions are never changed",
                         item->name, item->there, item->wanted);
    }
    if (!code) code = create_missing(&shape, admin, plan->replication, deadline, error);
    if (!code) code = wait_for_all(&shape, admin, deadline, error);
    if (!code) code = settle(&shape, admin, deadline, error);
    shape_clear(&shape);
    return code;
}

/* All counts of the topics of a space, for a reason that says that they differ. */
static void put_counts(const struct shape *shape, enum topic_space space, struct buffer *out) {
    for (size_t i = 0; i < shape->topics; i++) {
        const struct item *item = &shape->items[i];
        if (item->topic->space == space)
            buffer_format(out, "%s%s has %d", out->size ? ", " : "", item->name, item->there);
    }
}

/* The topics that the program may not see. 0: there are none. */
static int judge_refused(const struct shape *shape, struct error *error) {
    struct buffer text = {.data = NULL, .size = 0, .capacity = 0};
    size_t refused = 0;
    for (size_t i = 0; i < shape->topics; i++) {
        const struct item *item = &shape->items[i];
        if (item->refused && ++refused <= NAMED_MAX) buffer_format(&text, "%s%s", text.size ? ", " : "", item->name);
    }
    if (refused > NAMED_MAX) buffer_format(&text, " and %zu more", refused - NAMED_MAX);
    int code =
        refused ? error_set(error, -EACCES,
                            "no ACL allows Describe on topic %s (`starling topics acls` prints those that are needed)",
                            buffer_cstring(&text))
                : 0;
    buffer_free(&text);
    return code;
}

/* All names that are missing, or all counts that must be equal, in one reason. */
static int judge(const struct shape *shape, struct topics_shape *out, struct error *error) {
    struct buffer text = {.data = NULL, .size = 0, .capacity = 0};
    struct topics_shape found = {.partitions = {0}};
    int code = 0, differ = -1;
    size_t missing = 0;
    for (size_t i = 0; i < shape->topics; i++) {
        const struct item *item = &shape->items[i];
        int *count = &found.partitions[item->topic->space];
        if (!item->there && ++missing <= NAMED_MAX) buffer_format(&text, "%s%s", text.size ? ", " : "", item->name);
        if (*count && *count != item->there) differ = (int)item->topic->space;
        *count = item->there;
    }
    if (missing > NAMED_MAX) buffer_format(&text, " and %zu more", missing - NAMED_MAX);
    if (missing) {
        code = error_set(error, -ENOENT, "no such topic: %s (made by `starling topics create`)", buffer_cstring(&text));
    } else if (differ >= 0) {
        put_counts(shape, (enum topic_space)differ, &text);
        code = error_set(error, -EINVAL,
                         "topics that must have the same number of partitions differ (docs/OPERATIONS.md, \"More "
                         "partitions\"): %s",
                         buffer_cstring(&text));
    } else {
        *out = found;
    }
    buffer_free(&text);
    return code;
}

int kafka_topics_verify(struct kafka_admin *admin, const struct topic_list *topics, struct topics_shape *out,
                        int timeout_ms, struct error *error) {
    struct shape shape;
    shape_start(&shape, admin->settings, topics, NULL);
    int64_t deadline = kafka_deadline_us(timeout_ms);
    int code = shape_read(&shape, admin, deadline, error);
    if (!code) shape_ask_for_missing(&shape, admin, deadline);
    if (!code) code = judge_refused(&shape, error);
    if (!code) code = judge(&shape, out, error);
    shape_clear(&shape);
    return code;
}
