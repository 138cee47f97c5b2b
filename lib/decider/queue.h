/* The queue of records of command topics that are not yet decided, in their order of arrival, each with its decoded command or with the
 * reason why it is no command. Private to lib/decider. One thread. */
#pragma once

#include "kafka/consumer.h"

/* A record that is no command. */
struct dead_command {
    struct kafka_record record; /* key and value are copies */
    char *reason;
};

struct queued_command {
    size_t place; /* of its topic and partition, as the decider numbers them */
    const struct topic *topic;
    int32_t partition;
    int64_t offset;
    size_t size;               /* of the record: about what the command takes */
    struct dead_command *dead; /* NULL: a command */
};

struct decider_queue {
    struct queued_command *commands; /* `count` from `first` on */
    uint8_t *items;                  /* item_size for each place of `commands` */
    size_t item_size, first, count, capacity;
    size_t bytes; /* of all records */
    void (*release)(void *item);
};

/* Each item stands at a multiple of 8 bytes. release: as the decider's. */
struct decider_queue queue_new(size_t item_size, void (*release)(void *item));
void queue_free(struct decider_queue *queue);
void queue_clear(struct decider_queue *queue);

/* Makes room for one more and returns where its item goes. queue_add then takes it, dead or alive. */
void *queue_reserve(struct decider_queue *queue);
void queue_add(struct decider_queue *queue, const struct queued_command *command);

struct dead_command *queue_dead_new(const struct kafka_record *record, const char *reason);

/* The n-th from the front, and its item. */
struct queued_command *queue_at(const struct decider_queue *queue, size_t n);
const void *queue_item(const struct decider_queue *queue, size_t n);
void queue_drop(struct decider_queue *queue, size_t count); /* from the front */
