/* Topics and groups: blocking calls with timeouts; any thread (loop_work in daemons). */
#pragma once

#include "base/buffer.h"
#include "kafka/settings.h"

struct kafka_admin;

int kafka_admin_new(const struct kafka_settings *settings, struct kafka_admin **admin, struct error *error);
void kafka_admin_free(struct kafka_admin *admin);

struct topics_plan {
    const struct topic_list *topics;
    int partitions[TOPIC_SPACES]; /* of each topic, by its space */
    int replication;              /* -1: the broker's default */
    int min_insync;               /* min.insync.replicas; 0: the broker's default */
    bool copies; /* the topics, not their dead letter queues, are for copied records: topic_settings_of_copy */
};

/* Creates missing topics and their dead letter queues with the settings of their descriptions, and corrects the settings of
 * existing ones. Never changes a partition count. Idempotent. */
int kafka_topics_create(struct kafka_admin *admin, const struct topics_plan *plan, int timeout_ms, struct error *error);

/* How many partitions the topics have; -ENOENT when a topic is missing, -EACCES when the program may not see one or its connection
 * is refused (a wrong password, an unknown authority), -EINVAL when topics of one space have different numbers
 * (error names them), -EHOSTDOWN when no broker answers in time. Ignores topics that the list does not name. */
struct topics_shape {
    int partitions[TOPIC_SPACES]; /* 0: the list has no topic of that space */
};
int kafka_topics_verify(struct kafka_admin *admin, const struct topic_list *topics, struct topics_shape *shape,
                        int timeout_ms, struct error *error);

/* A topic, or its dead letter queue, as the cluster has it. */
struct kafka_topic_found {
    const struct topic *topic;
    bool dead_letters;
    char *name;
    int partitions;        /* 0: there is no such topic */
    int copies;            /* of the partition that has the fewest */
    int min_insync;        /* min.insync.replicas */
    struct buffer differs; /* settings that are not those of the description: "retention.ms is 5, not 10, ..." */
};
/* All topics of the list, then their dead letter queues: found has room for two of each topic, and is cleared by the caller, also after a
 * failure. */
int kafka_topics_inspect(struct kafka_admin *admin, const struct topic_list *topics, struct kafka_topic_found *found,
                         int timeout_ms, struct error *error);
void kafka_topics_found_clear(struct kafka_topic_found *found, size_t count);

/* Checks that the oldest records of those of the topics that the program reads lie in the partitions that their keys choose. 0; -EINVAL: they
 * do not, but among fewer partitions, and error says among how many: somebody has added partitions, and keys are looked for where they are
 * not. Records that lie anywhere are for dead letters, as are those of less than four keys. Partitions that do not answer in time, for want
 * of a leader, are passed over. -EHOSTDOWN: none has answered in time. */
int kafka_topics_placed(struct kafka_admin *admin, const struct topic_list *topics, const struct topics_shape *shape,
                        int timeout_ms, struct error *error);

/* How long a topic keeps a value that another one has replaced, or that is too old, by the settings that the broker has for it. */
struct kafka_topic_keeping {
    char *name; /* the caller frees it */
    bool compacted;
    int64_t kept_ms; /* from now on, at most, if the broker's cleaner runs; -1: the settings have no bound */
};
/* Of all topics of the list that exist, and their dead letter queues. kept: room for two of each topic. Fails as kafka_topics_verify does. */
int kafka_topics_keeping(struct kafka_admin *admin, const struct topic_list *topics, struct kafka_topic_keeping *kept,
                         size_t *count, int timeout_ms, struct error *error);

/* Deletes a partition's records before an offset, for whoever reads: their bytes go with the segment. Of a topic that deletes by time.
 * -EACCES: the program lacks the operation Delete. */
int kafka_records_delete(struct kafka_admin *admin, const struct topic *topic, int32_t partition, int64_t before,
                         int timeout_ms, struct error *error);

/* The members of a consumer group, and the partitions that each of them owns. */
struct kafka_member {
    char *id; /* the broker's name of the member, new each time it joins */
    char *client_id, *host, *instance_id;
    struct kafka_position *owned; /* offsets unset */
    size_t owned_count;
};
struct kafka_group {
    char *state; /* Stable, Empty, ... */
    struct kafka_member *members;
    size_t count;
};
int kafka_group_describe(struct kafka_admin *admin, const char *group, struct kafka_group *out, int timeout_ms,
                         struct error *error);
void kafka_group_clear(struct kafka_group *group);

/* Committed offset (KAFKA_OFFSET_NONE if none) and end of every partition of a topic for a group; arrays of `count` =
 * partitions. */
int kafka_group_offsets(struct kafka_admin *admin, const char *group, const struct topic *topic, int count,
                        int64_t *committed, int64_t *end, int timeout_ms, struct error *error);
