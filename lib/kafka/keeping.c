/* How long topics keep what was written to them, by the settings that they have. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kafka/admin_private.h"

static int64_t number_of(const rd_kafka_ConfigEntry_t *const *entries, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        const char *value = rd_kafka_ConfigEntry_value(entries[i]);
        if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), name) == 0 && value) return strtoll(value, NULL, 10);
    }
    return -1;
}

static bool is_compacted(const rd_kafka_ConfigEntry_t *const *entries, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *value = rd_kafka_ConfigEntry_value(entries[i]);
        if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), "cleanup.policy") == 0 && value)
            return strstr(value, "compact") != NULL;
    }
    return false;
}

/* A segment is deleted when its newest record is too old, and is open for segment.ms at most. A compacted topic is compacted
 * max.compaction.lag.ms after a record came, and drops the tombstone delete.retention.ms after that. */
static void read_keeping(const rd_kafka_ConfigResource_t *resource, struct kafka_topic_keeping *kept) {
    size_t count;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &count);
    kept->name = mem_string(rd_kafka_ConfigResource_name(resource));
    kept->compacted = is_compacted(entries, count);
    int64_t first = number_of(entries, count, kept->compacted ? "max.compaction.lag.ms" : "retention.ms");
    int64_t then = number_of(entries, count, kept->compacted ? "delete.retention.ms" : "segment.ms");
    kept->kept_ms = first < 0 || then < 0 || first > INT64_MAX - then ? -1 : first + then;
    if (first == INT64_MAX) kept->kept_ms = -1;
}

int kafka_topics_keeping(struct kafka_admin *admin, const struct topic_list *topics, struct kafka_topic_keeping *kept,
                         size_t *count, int timeout_ms, struct error *error) {
    int64_t deadline = kafka_deadline_us(timeout_ms);
    size_t wanted = 2 * topics->count;
    *count = 0;
    int code = kafka_admin_open(admin, error);
    if (code) return code;
    rd_kafka_ConfigResource_t **resources = mem_zero(wanted, sizeof *resources);
    for (size_t i = 0; i < wanted; i++) {
        char *name = topic_full_name(admin->settings, topics->items[i / 2], i % 2);
        resources[i] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name);
        free(name);
    }
    struct kafka_request request = kafka_request_new(admin, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, deadline);
    rd_kafka_DescribeConfigs(admin->client, resources, wanted, request.options, request.queue);
    rd_kafka_event_t *event = kafka_request_finish(&request, deadline, "reading settings of topics", &code, error);
    rd_kafka_ConfigResource_destroy_array(resources, wanted);
    free(resources);
    if (!event) return code;
    size_t answers;
    const rd_kafka_ConfigResource_t **results =
        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &answers);
    for (size_t i = 0; i < answers; i++) {
        rd_kafka_resp_err_t failed = rd_kafka_ConfigResource_error(results[i]);
        if (!failed)
            read_keeping(results[i], &kept[(*count)++]);
        else if (failed != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) // of a later version, and not made yet
            code = error_set(error, -EIO, "the settings of %s: %s", rd_kafka_ConfigResource_name(results[i]),
                             rd_kafka_ConfigResource_error_string(results[i]));
    }
    rd_kafka_event_destroy(event);
    return code;
}
