#include <stdlib.h>

#include "base/mem.h"
#include "kafka/consumer_private.h"

/* All of this may run on worker threads: librdkafka's handles are safe there, `plain` is guarded by the lock. */

static rd_kafka_topic_partition_list_t *list_of(const struct kafka_consumer *consumer,
                                                const struct kafka_position *positions, size_t count) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    for (size_t i = 0; i < count; i++) kafka_list_add(list, consumer->options.settings, &positions[i]);
    return list;
}

/* librdkafka may sort lists: found again by name. */
static const rd_kafka_topic_partition_t *entry_of(const struct kafka_consumer *consumer,
                                                  rd_kafka_topic_partition_list_t *list,
                                                  const struct kafka_position *position) {
    char *name = topic_full_name(consumer->options.settings, position->topic, false);
    const rd_kafka_topic_partition_t *entry = rd_kafka_topic_partition_list_find(list, name, position->partition);
    free(name);
    return entry;
}

static rd_kafka_resp_err_t first_error(rd_kafka_resp_err_t err, const rd_kafka_topic_partition_list_t *list) {
    for (int i = 0; !err && i < list->cnt; i++) err = list->elems[i].err;
    return err;
}

/* A reader of uncommitted records, as ends asked for by a read_committed one stop at the first open transaction. */
static int plain_client(struct kafka_consumer *consumer, rd_kafka_t **client, struct error *error) {
    static const struct kafka_property OURS[] = {{NULL, NULL}};
    static const struct kafka_property FIXED[] = {{"isolation.level", "read_uncommitted"}, {NULL, NULL}};
    uv_mutex_lock(&consumer->lock);
    int code = 0;
    if (!consumer->plain) {
        consumer->plain_opaque = (struct kafka_opaque){.log = consumer->options.settings->log, .owner = NULL};
        rd_kafka_conf_t *conf = NULL;
        code = kafka_conf_new(consumer->options.settings, OURS, FIXED, &consumer->plain_opaque, &conf, error);
        if (!code) code = kafka_client_new(RD_KAFKA_CONSUMER, conf, &consumer->plain, error);
    }
    *client = consumer->plain;
    uv_mutex_unlock(&consumer->lock);
    return code;
}

int kafka_consumer_committed(struct kafka_consumer *consumer, struct kafka_position *positions, size_t count,
                             int timeout_ms, struct error *error) {
    if (!count) return 0;
    int64_t deadline = kafka_deadline_us(timeout_ms);
    rd_kafka_topic_partition_list_t *list = list_of(consumer, positions, count);
    rd_kafka_resp_err_t err;
    do {
        err = first_error(rd_kafka_committed(consumer->client, list, kafka_remaining_ms(deadline)), list);
    } while (kafka_again(err, deadline));
    if (!err) {
        for (size_t i = 0; i < count; i++) {
            const rd_kafka_topic_partition_t *entry = entry_of(consumer, list, &positions[i]);
            positions[i].offset = entry->offset >= 0 ? entry->offset : KAFKA_OFFSET_NONE;
        }
    }
    rd_kafka_topic_partition_list_destroy(list);
    kafka_refused(consumer->options.settings, err, "Read", "group and topics of", consumer->options.group);
    return err ? kafka_failed(error, err, "committed offsets") : 0;
}

int kafka_consumer_watermarks(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition,
                              int64_t *low, int64_t *high, int timeout_ms, struct error *error) {
    rd_kafka_t *client;
    int code = plain_client(consumer, &client, error);
    if (code) return code;
    char *name = topic_full_name(consumer->options.settings, topic, false);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, name, partition);
    int64_t deadline = kafka_deadline_us(timeout_ms);
    int64_t first, end;
    rd_kafka_resp_err_t err;
    do {
        err = rd_kafka_query_watermark_offsets(client, name, partition, &first, &end, kafka_attempt_ms(deadline));
    } while (kafka_leaders_again(client, list, err, deadline));
    rd_kafka_topic_partition_list_destroy(list);
    if (!err) {
        *low = first;
        *high = end;
    } else {
        kafka_refused(consumer->options.settings, err, "Describe", "topic", name);
        code = kafka_failed(error, err, name);
    }
    free(name);
    return code;
}

/* A client that reads nothing may remember a leader of long ago, which is dead: it would be waited for. */
static void learn_leaders(rd_kafka_t *client, int64_t deadline) {
    const struct rd_kafka_metadata *metadata;
    if (!rd_kafka_metadata(client, 0, NULL, &metadata, kafka_attempt_ms(deadline))) rd_kafka_metadata_destroy(metadata);
}

static rd_kafka_resp_err_t offsets_for(const struct kafka_settings *settings, rd_kafka_t *client,
                                       rd_kafka_topic_partition_list_t *list, int64_t timestamp, int64_t deadline) {
    rd_kafka_resp_err_t err;
    learn_leaders(client, deadline);
    do {
        for (int i = 0; i < list->cnt; i++) list->elems[i].offset = timestamp;
        err = first_error(rd_kafka_offsets_for_times(client, list, kafka_attempt_ms(deadline)), list);
    } while (kafka_leaders_again(client, list, err, deadline));
    for (int i = 0; i < list->cnt; i++)
        kafka_refused(settings, list->elems[i].err, "Describe", "topic", list->elems[i].topic);
    return err;
}

int kafka_consumer_ends(struct kafka_consumer *consumer, struct kafka_position *positions, size_t count, int timeout_ms,
                        struct error *error) {
    if (!count) return 0;
    rd_kafka_t *client;
    int code = plain_client(consumer, &client, error);
    if (code) return code;
    rd_kafka_topic_partition_list_t *list = list_of(consumer, positions, count);
    rd_kafka_resp_err_t err =
        offsets_for(consumer->options.settings, client, list, RD_KAFKA_OFFSET_END, kafka_deadline_us(timeout_ms));
    for (size_t i = 0; !err && i < count; i++) positions[i].offset = entry_of(consumer, list, &positions[i])->offset;
    if (err) code = kafka_failed(error, err, "ends of partitions");
    rd_kafka_topic_partition_list_destroy(list);
    return code;
}

int kafka_consumer_offsets_at(struct kafka_consumer *consumer, struct kafka_position *positions, size_t count,
                              int64_t time_ms, int timeout_ms, struct error *error) {
    if (!count) return 0;
    rd_kafka_t *client;
    int code = plain_client(consumer, &client, error);
    if (code) return code;
    int64_t deadline = kafka_deadline_us(timeout_ms);
    rd_kafka_topic_partition_list_t *ends = list_of(consumer, positions, count);
    rd_kafka_topic_partition_list_t *found = rd_kafka_topic_partition_list_copy(ends);
    // The ends first: asked for afterwards they would skip what arrives between the two questions.
    rd_kafka_resp_err_t err = offsets_for(consumer->options.settings, client, ends, RD_KAFKA_OFFSET_END, deadline);
    if (!err) err = offsets_for(consumer->options.settings, client, found, time_ms, deadline);
    if (!err) {
        for (size_t i = 0; i < count; i++) {
            int64_t offset = entry_of(consumer, found, &positions[i])->offset;
            positions[i].offset = offset >= 0 ? offset : entry_of(consumer, ends, &positions[i])->offset;
        }
    } else {
        code = kafka_failed(error, err, "offsets by time");
    }
    rd_kafka_topic_partition_list_destroy(ends);
    rd_kafka_topic_partition_list_destroy(found);
    return code;
}
