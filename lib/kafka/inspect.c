/* Topics as the cluster has them, for a comparison with topics as they must be. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kafka/admin_private.h"

static int fewest_copies(const struct rd_kafka_metadata_topic *topic) {
    int fewest = 0;
    for (int p = 0; p < topic->partition_cnt; p++)
        if (!p || topic->partitions[p].replica_cnt < fewest) fewest = topic->partitions[p].replica_cnt;
    return fewest;
}

static int read_metadata(struct kafka_admin *admin, struct kafka_topic_found *found, size_t count, int64_t deadline,
                         struct error *error) {
    const struct rd_kafka_metadata *metadata = NULL;
    int code = kafka_admin_open(admin, error);
    if (code) return code;
    rd_kafka_resp_err_t err = rd_kafka_metadata(admin->client, 1, NULL, &metadata, kafka_remaining_ms(deadline));
    if (err) return kafka_admin_unreachable(admin, err, "asking the broker for its topics", error);
    kafka_admin_reached(admin);
    for (int t = 0; t < metadata->topic_cnt; t++) {
        for (size_t i = 0; i < count; i++) {
            if (strcmp(metadata->topics[t].topic, found[i].name) != 0) continue;
            found[i].partitions = metadata->topics[t].partition_cnt;
            found[i].copies = fewest_copies(&metadata->topics[t]);
        }
    }
    rd_kafka_metadata_destroy(metadata);
    return 0;
}

static const char *value_of(const rd_kafka_ConfigResource_t *there, const char *name) {
    size_t count = 0;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(there, &count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(rd_kafka_ConfigEntry_name(entries[i]), name)) return rd_kafka_ConfigEntry_value(entries[i]);
    return NULL;
}

static void compare(struct kafka_topic_found *found, const rd_kafka_ConfigResource_t *there) {
    struct topic_setting wanted[TOPIC_SETTINGS_MAX];
    size_t count = topic_settings(found->topic, found->dead_letters, 0, wanted);
    const char *insync = value_of(there, "min.insync.replicas");
    found->min_insync = insync ? (int)strtol(insync, NULL, 10) : 0;
    for (size_t i = 0; i < count; i++) {
        const char *value = value_of(there, wanted[i].name);
        if (value && !strcmp(value, wanted[i].value)) continue;
        buffer_format(&found->differs, "%s%s is %s, not %s", found->differs.size ? ", " : "", wanted[i].name,
                      value ? value : "unknown", wanted[i].value);
    }
}

static int read_settings(struct kafka_admin *admin, struct kafka_topic_found *found, size_t count, int64_t deadline,
                         struct error *error) {
    rd_kafka_ConfigResource_t **asked = mem_zero(count + 1, sizeof *asked);
    size_t asked_count = 0, answers = 0;
    int code = 0;
    for (size_t i = 0; i < count; i++)
        if (found[i].partitions)
            asked[asked_count++] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, found[i].name);
    if (!asked_count) goto finish;
    struct kafka_request request = kafka_request_new(admin, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, deadline);
    rd_kafka_DescribeConfigs(admin->client, asked, asked_count, request.options, request.queue);
    rd_kafka_event_t *event =
        kafka_request_finish(&request, deadline, "asking for the settings of topics", &code, error);
    if (!event) goto finish;
    const rd_kafka_ConfigResource_t **results =
        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &answers);
    for (size_t i = 0; !code && i < answers; i++) {
        rd_kafka_resp_err_t err = rd_kafka_ConfigResource_error(results[i]);
        const char *name = rd_kafka_ConfigResource_name(results[i]);
        if (err) code = kafka_admin_failed(error, err, name);
        for (size_t t = 0; !err && t < count; t++)
            if (!strcmp(found[t].name, name)) compare(&found[t], results[i]);
    }
    rd_kafka_event_destroy(event);
finish:
    rd_kafka_ConfigResource_destroy_array(asked, asked_count);
    free(asked);
    return code;
}

int kafka_topics_inspect(struct kafka_admin *admin, const struct topic_list *topics, struct kafka_topic_found *found,
                         int timeout_ms, struct error *error) {
    int64_t deadline = kafka_deadline_us(timeout_ms);
    size_t count = 2 * topics->count;
    for (size_t i = 0; i < count; i++) {
        const struct topic *topic = topics->items[i % topics->count];
        bool dead_letters = i >= topics->count;
        found[i] = (struct kafka_topic_found){.topic = topic,
                                              .dead_letters = dead_letters,
                                              .name = topic_full_name(admin->settings, topic, dead_letters)};
    }
    int code = read_metadata(admin, found, count, deadline, error);
    return code ? code : read_settings(admin, found, count, deadline, error);
}

void kafka_topics_found_clear(struct kafka_topic_found *found, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(found[i].name);
        buffer_free(&found[i].differs);
    }
}
