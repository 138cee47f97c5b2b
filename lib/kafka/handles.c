#include <stdlib.h>

#include "kafka/private.h"

/* A topic whose keys are (user, other) is partitioned by the user alone, so that a user's records stay together. */
static int32_t by_first_bytes(const rd_kafka_topic_t *handle, const void *key, size_t size, int32_t partitions,
                              void *topic_opaque, void *message_opaque) {
    const struct topic *topic = topic_opaque;
    size_t used = size < topic->key_hashed ? size : topic->key_hashed;
    return rd_kafka_msg_partitioner_murmur2_random(handle, key, used, partitions, topic_opaque, message_opaque);
}

static rd_kafka_topic_t *handle_new(rd_kafka_t *client, const struct kafka_settings *settings,
                                    const struct topic *topic) {
    char *name = topic_full_name(settings, topic, false);
    rd_kafka_topic_conf_t *conf = rd_kafka_default_topic_conf_dup(client);
    rd_kafka_topic_conf_set_opaque(conf, (void *)(uintptr_t)topic); // its signature is of before const
    if (topic->key_hashed) rd_kafka_topic_conf_set_partitioner_cb(conf, by_first_bytes);
    rd_kafka_topic_t *handle = rd_kafka_topic_new(client, name, conf);
    free(name);
    return handle;
}

rd_kafka_topic_t *kafka_handles_get(struct kafka_handles *handles, rd_kafka_t *client,
                                    const struct kafka_settings *settings, const struct topic *topic, unsigned how) {
    for (size_t i = 0; i < handles->count; i++)
        if (handles->topics[i] == topic) return handles->items[i];
    if (!topic || handles->count == KAFKA_TOPICS_MAX || !kafka_allows(settings, topic, how)) return NULL;
    rd_kafka_topic_t *handle = handle_new(client, settings, topic);
    if (!handle) return NULL;
    handles->topics[handles->count] = topic;
    handles->items[handles->count++] = handle;
    return handle;
}

void kafka_handles_free(struct kafka_handles *handles) {
    for (size_t i = 0; i < handles->count; i++) rd_kafka_topic_destroy(handles->items[i]);
    handles->count = 0;
}
