/* Topics as data: a product describes each topic that it uses as one `const struct topic`, and everything else (creating,
 * checking, partitioning, reading, producing) follows from that description. A topic is known by the address of its
 * description: two topics are the same if the pointers are equal. Pure; any thread.
 *
 * The catalogue of the products that exist is event/topics.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A space is a way to divide records among partitions. All topics of one space have the same number of partitions, so the records
 * of one user (or subject) lie in partitions of the same number, and one process owns all of these. */
enum topic_space {
    TOPIC_SPACE_USERS,    /* by the murmur2 hash of the user, as Java's LongSerializer and default partitioner do */
    TOPIC_SPACE_SUBJECTS, /* by the murmur2 hash of the subject's text, as "post:123" */
    TOPIC_SPACE_ROUTES,   /* one partition leads to one edge process; the producer names the partition */
    TOPIC_SPACES
};

enum topic_cleanup {
    TOPIC_DELETED, /* records are deleted after retention_ms */
    TOPIC_COMPACTED /* the newest record of each key stays; others go within retention_ms, and tombstones stay so long again */
};

/* How the key of a record says in which partition it lies. Records whose topics say so, and no others, may be copied into topics with
 * another number of partitions: they mean the same there. */
enum topic_keyed {
    TOPIC_KEYED_NOT,       /* the producer names the partition, or the record is about partitions and offsets */
    TOPIC_KEYED_BY_USER,   /* the key begins with the user, 8 bytes */
    TOPIC_KEYED_BY_NAME,   /* the key is a user, or 0x80 and a handle, of which the bytes behind the 0x80 count */
    TOPIC_KEYED_BY_SUBJECT /* the key begins with the subject's text, which a NUL or the key's end ends */
};

enum { TOPIC_VALUES_MAX = 2 };

struct topic {
    const char *name; /* without the prefix: "locations" */
    enum topic_space space;
    enum topic_cleanup cleanup;
    int64_t retention_ms;
    size_t key_hashed; /* only this many first bytes of the key choose the partition; 0: the whole key does */
    bool append_time;  /* Kafka's own time of arrival counts, not the producer's clock */
    enum topic_keyed keyed;
    bool scattered;                       /* a record may also lie in another partition than its key's */
    const char *values[TOPIC_VALUES_MAX]; /* the kinds of records that values are; NULL: no further one */
};

/* The partition that a key chooses, in a topic with so many of them; -1: the topic is keyed otherwise, or that is no key of it. */
int32_t topic_partition(const struct topic *topic, const void *key, size_t size, int32_t partitions);

const char *topic_space_name(enum topic_space space); /* "users", "subjects", "routes" */

/* The broker's settings for a topic (dead_letters: for its dead letter queue). Fills `settings` and returns
 * how many there are. min_insync: min.insync.replicas; 0 leaves that to the broker. */
enum { TOPIC_SETTINGS_MAX = 8, TOPIC_VALUE_SIZE = 24 };
struct topic_setting {
    const char *name;
    char value[TOPIC_VALUE_SIZE];
};
size_t topic_settings(const struct topic *topic, bool dead_letters, int min_insync,
                      struct topic_setting settings[TOPIC_SETTINGS_MAX]);

/* How long Kafka has a record at most after it was written (of a compacted topic: after its key got a tombstone), with these settings. */
int64_t topic_kept_ms(const struct topic *topic, bool dead_letters);

/* Changes the settings of a topic into those of a copy whose records bring their times with them, however old: Kafka keeps these times,
 * and deletes nothing by age. */
void topic_settings_of_copy(struct topic_setting settings[TOPIC_SETTINGS_MAX], size_t *count);

/* A list of topics that a program names. */
struct topic_list {
    const struct topic *const *items;
    size_t count;
};

/* The ways in which a program uses a topic. It asks for the partitions and offsets of each topic that it names, whatever else it does. */
enum {
    TOPIC_READS = 1,
    TOPIC_WRITES = 2,
    TOPIC_BURIES = 4 /* writes records that cannot be used to its dead letter queue */
};
struct topic_use {
    const struct topic *topic;
    unsigned how;
};
struct topic_uses {
    const struct topic_use *items;
    size_t count;
};

/* Whether the program does all of `how` with the topic. */
bool topic_used(const struct topic_uses *uses, const struct topic *topic, unsigned how);

/* The topic of that name (of `size` bytes); NULL: the list has none. */
const struct topic *topic_find(const struct topic_list *list, const char *name, size_t size);
