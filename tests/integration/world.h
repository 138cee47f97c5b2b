/* What the tests against a real broker share: topics of their own, a loop, and consumers that remember what they got.
 *
 * The broker is named by STARLING_TEST_BROKER (host:port); without it every test says so and is skipped. */
#pragma once

#include "kafka/admin.h"
#include "kafka/consumer.h"
#include "kafka/producer.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 4, DELIVERY_PARTITIONS = 3, PATIENCE_MS = 30000 };

/* Of a topics_plan. */
#define WORLD_PARTITIONS                                                                                               \
    {                                                                                                                  \
        [TOPIC_SPACE_USERS] = PARTITIONS, [TOPIC_SPACE_ROUTES] = DELIVERY_PARTITIONS,                                  \
        [TOPIC_SPACE_SUBJECTS] = PARTITIONS                                                                            \
    }

struct world {
    uv_loop_t loop;
    char *prefix;
    struct kafka_settings settings;
    struct kafka_admin *admin;
};

bool world_broker(void); /* false, and said once, when there is none */

/* For a SET_UP: NULL without a broker. It goes when the test is over. */
struct world *world_create(bool topics);

/* Runs the loop until the condition holds; fails the test after PATIENCE_MS. */
void world_until(struct world *world, bool (*condition)(void *context), void *context, const char *what);
void world_run(struct world *world, int ms); /* only to show that something does not happen */

/* Runs fn on a worker while the loop goes on. */
void world_work(struct world *world, void (*fn)(void *context), void *context);

/* A consumer and all that it said. */
struct seen {
    const struct topic *topic;
    int32_t partition;
    int64_t offset, timestamp;
    char key[32], value[32]; /* as texts, cut */
    bool tombstone;
};

struct reader {
    struct world *world;
    struct kafka_consumer *consumer;
    struct seen *seen;
    size_t count;
    struct kafka_position *owned;
    size_t owned_count;
    int assignments, revocations, lost, drained, offsets_lost, ups, downs, fatal;
    bool read_nothing;                    /* on_assigned does not read */
    void (*on_assigned)(struct reader *); /* instead of reading what is owned from the beginning */
    void (*on_records)(struct reader *);  /* beside remembering */
    void *context;
};

void reader_open(struct reader *reader, struct world *world, const char *group,
                 const char *instance); /* zeroed first */
void reader_close(struct reader *reader);
void reader_read(struct reader *reader, const struct topic *topic, int32_t partition, int64_t offset);
size_t reader_count(const struct reader *reader, const struct topic *topic, int32_t partition);
void reader_until(struct reader *reader, size_t count); /* as many records in all */
void reader_until_assigned(struct reader *reader, size_t owned);
bool reader_owns(const struct reader *reader, const struct topic *topic, int32_t partition);

struct kafka_producer *world_producer(struct world *world, const char *transactional_id);
void world_send(struct world *world, struct kafka_producer *producer, const struct topic *topic, int32_t partition,
                const char *value);
void world_flush(struct world *world, struct kafka_producer *producer);
