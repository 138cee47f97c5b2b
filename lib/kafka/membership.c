#include <stdlib.h>

#include "base/mem.h"
#include "kafka/consumer_private.h"

struct kafka_membership {
    int references;
    rd_kafka_consumer_group_metadata_t *metadata;
    char *id;
};

/* The group metadata of a transaction must be those under which its partitions were owned. librdkafka's of the moment
 * may be of the next generation already, and the broker asks who commits, not who owns the partition; or, before the
 * first join, of nobody (generation -1, no member id), which it lets pass. */
static struct kafka_membership *membership_new(const struct kafka_consumer *consumer) {
    rd_kafka_consumer_group_metadata_t *metadata = rd_kafka_consumer_group_metadata(consumer->client);
    char *id = rd_kafka_memberid(consumer->client);
    struct kafka_membership *membership = NULL;
    if (metadata && id && id[0]) {
        membership = MEM_NEW(&(struct kafka_membership){.references = 1, .metadata = metadata, .id = mem_string(id)});
    } else if (metadata) {
        rd_kafka_consumer_group_metadata_destroy(metadata);
    }
    if (id) rd_kafka_mem_free(consumer->client, id);
    return membership;
}

struct kafka_membership *kafka_consumer_membership(struct kafka_consumer *consumer) {
    struct kafka_membership *membership = consumer->membership;
    if (membership) membership->references++;
    return membership;
}

const rd_kafka_consumer_group_metadata_t *kafka_membership_metadata(const struct kafka_membership *membership) {
    return membership->metadata;
}

void kafka_membership_release(struct kafka_membership *membership) {
    if (!membership || --membership->references) return;
    rd_kafka_consumer_group_metadata_destroy(membership->metadata);
    free(membership->id);
    free(membership);
}

void kafka_consumer_keep_membership(struct kafka_consumer *consumer) {
    kafka_membership_release(consumer->membership);
    consumer->membership = membership_new(consumer);
}

void kafka_consumer_drop_membership(struct kafka_consumer *consumer) {
    kafka_membership_release(consumer->membership);
    consumer->membership = NULL;
}

const char *kafka_consumer_member(const struct kafka_consumer *consumer) {
    return consumer->membership ? consumer->membership->id : NULL;
}
