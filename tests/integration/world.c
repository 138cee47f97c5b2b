#include "world.h"

#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"

bool world_broker(void) { return getenv("STARLING_TEST_BROKER") != NULL; }

static void world_free(void *it);

struct world *world_create(bool topics) {
    if (!world_broker()) {
        print_message("skipped: STARLING_TEST_BROKER (host:port) is not set\n");
        return NULL;
    }
    struct world *world = mem_zero(1, sizeof *world);
    uv_loop_init(&world->loop);
    world->prefix = mem_format("test-%d-%llx.", (int)getpid(), (unsigned long long)clock_monotonic_us());
    world->settings = (struct kafka_settings){
        .topics = &TOPICS_ALL,
        .bootstrap = getenv("STARLING_TEST_BROKER"),
        .prefix = world->prefix,
        .client_id = "starling-test",
        .extra = NULL,
        .extra_count = 0,
        .log = NULL,
    };
    struct error error = {.text = ""};
    if (kafka_admin_new(&world->settings, &world->admin, &error)) fail_msg("%s", error.text);
    struct topics_plan plan = {.topics = &TOPICS_ALL, .partitions = WORLD_PARTITIONS, .replication = 1};
    if (topics && kafka_topics_create(world->admin, &plan, PATIENCE_MS, &error)) fail_msg("%s", error.text);
    kit_after(world_free, world);
    return world;
}

/* So that the broker of a whole run does not carry some thousand partitions from test to test. */
static void delete_topics(struct world *world) {
    char reason[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", getenv("STARLING_TEST_BROKER"), reason, sizeof reason);
    rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
    size_t count = 2 * TOPICS_ALL.count;
    rd_kafka_DeleteTopic_t **topics = mem_zero(count, sizeof *topics);
    for (size_t i = 0; i < count; i++) {
        char *name = topic_full_name(&world->settings, TOPICS_ALL.items[i / 2], i % 2);
        topics[i] = rd_kafka_DeleteTopic_new(name);
        free(name);
    }
    rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
    rd_kafka_DeleteTopics(client, topics, count, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, PATIENCE_MS);
    if (event) rd_kafka_event_destroy(event);
    rd_kafka_DeleteTopic_destroy_array(topics, count);
    free(topics);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(client);
}

static void world_free(void *it) {
    struct world *world = it;
    kafka_admin_free(world->admin);
    delete_topics(world);
    // Closing may wait for a question to a broker that is not there; what a failed test left open would never end.
    for (int turn = 0; turn < PATIENCE_MS / 10 && uv_run(&world->loop, UV_RUN_NOWAIT); turn++) usleep(10000);
    if (uv_loop_close(&world->loop)) fail_msg("something is left on the loop");
    free(world->prefix);
    free(world);
}

static void stop(void *context) { uv_stop(context); }

void world_until(struct world *world, bool (*condition)(void *context), void *context, const char *what) {
    int64_t deadline = clock_monotonic_us() + PATIENCE_MS * 1000LL;
    struct loop_timer *timer = loop_timer_new(&world->loop, 5, 5, stop, &world->loop);
    bool held = false;
    while (!(held = condition(context)) && clock_monotonic_us() < deadline) uv_run(&world->loop, UV_RUN_DEFAULT);
    loop_timer_free(timer);
    if (!held) fail_msg("waited in vain until %s", what);
}

static bool passed(void *context) { return clock_monotonic_us() > *(int64_t *)context; }

void world_run(struct world *world, int ms) {
    int64_t end = clock_monotonic_us() + ms * 1000LL;
    world_until(world, passed, &end, "the time has passed");
}

struct work {
    void (*fn)(void *context);
    void *context;
    bool done;
};

static void work_run(void *context) {
    struct work *work = context;
    work->fn(work->context);
}

static void work_done(void *context) { ((struct work *)context)->done = true; }

static bool work_finished(void *context) { return ((struct work *)context)->done; }

void world_work(struct world *world, void (*fn)(void *context), void *context) {
    struct work work = {.fn = fn, .context = context, .done = false};
    loop_work(&world->loop, work_run, work_done, &work);
    world_until(world, work_finished, &work, "the worker has finished");
}

/* ---- readers ---- */

static void text_of(char *to, size_t size, const void *from, size_t length) {
    size_t copied = length < size - 1 ? length : size - 1;
    if (copied) memcpy(to, from, copied);
    to[copied] = 0;
}

static void on_records(void *context, const struct kafka_record *records, size_t count) {
    struct reader *reader = context;
    reader->seen = mem_resize(reader->seen, reader->count + count, sizeof *reader->seen);
    for (size_t i = 0; i < count; i++) {
        struct seen *seen = &reader->seen[reader->count++];
        *seen = (struct seen){
            .topic = records[i].topic,
            .partition = records[i].partition,
            .offset = records[i].offset,
            .timestamp = records[i].timestamp,
            .tombstone = !records[i].value,
        };
        text_of(seen->key, sizeof seen->key, records[i].key, records[i].key_size);
        text_of(seen->value, sizeof seen->value, records[i].value, records[i].value_size);
    }
    if (reader->on_records) reader->on_records(reader);
}

static void on_assigned(void *context, const struct kafka_position *owned, size_t count) {
    struct reader *reader = context;
    reader->assignments++;
    reader->owned = mem_resize(reader->owned, count + 1, sizeof *owned);
    if (count) memcpy(reader->owned, owned, count * sizeof *owned);
    reader->owned_count = count;
    if (reader->read_nothing) return;
    if (reader->on_assigned) {
        reader->on_assigned(reader);
        return;
    }
    for (size_t i = 0; i < count; i++) reader->owned[i].offset = KAFKA_OFFSET_BEGINNING;
    struct error error = {.text = ""};
    if (kafka_consumer_read(reader->consumer, reader->owned, count, &error)) fail_msg("%s", error.text);
}

static void on_revoked(void *context, bool lost) {
    struct reader *reader = context;
    reader->revocations++;
    reader->lost += lost;
    reader->owned_count = 0;
}

static void on_drained(void *context) { ((struct reader *)context)->drained++; }

static void on_offset_lost(void *context, const struct topic *topic, int32_t partition) {
    struct reader *reader = context;
    reader->offsets_lost++;
    struct kafka_position start = {.topic = topic, .partition = partition, .offset = KAFKA_OFFSET_BEGINNING};
    assert_int_equal(kafka_consumer_seek(reader->consumer, &start, NULL), 0);
}

static void on_broker(void *context, bool up, const char *reason) {
    struct reader *reader = context;
    up ? reader->ups++ : reader->downs++;
}

static void on_fatal(void *context, const char *reason) {
    struct reader *reader = context;
    assert_true(reason[0]);
    assert_int_equal(reader->downs, 1);
    assert_int_equal(reader->owned_count, 0); // taken back before
    reader->fatal++;
}

void reader_open(struct reader *reader, struct world *world, const char *group, const char *instance) {
    static const struct topic *const SUBSCRIBED[] = {&TOPIC_LOCATIONS, &TOPIC_FRIEND_COMMANDS};
    reader->world = world;
    struct kafka_consumer_options options = {
        .loop = &world->loop,
        .settings = &world->settings,
        .group = group,
        .instance_id = instance,
        .subscribe = SUBSCRIBED,
        .subscribe_count = 2,
        .batch = 7, // small, so that batches are full now and then
        .context = reader,
        .on_records = on_records,
        .on_assigned = on_assigned,
        .on_revoked = on_revoked,
        .on_drained = on_drained,
        .on_offset_lost = on_offset_lost,
        .on_broker = on_broker,
        .on_fatal = on_fatal,
    };
    struct error error = {.text = ""};
    if (kafka_consumer_new(&options, &reader->consumer, &error)) fail_msg("%s", error.text);
}

void reader_close(struct reader *reader) {
    kafka_consumer_free(reader->consumer);
    free(reader->seen);
    free(reader->owned);
    *reader = (struct reader){.world = reader->world};
}

void reader_read(struct reader *reader, const struct topic *topic, int32_t partition, int64_t offset) {
    struct kafka_position position = {.topic = topic, .partition = partition, .offset = offset};
    struct error error = {.text = ""};
    if (kafka_consumer_read(reader->consumer, &position, 1, &error)) fail_msg("%s", error.text);
}

size_t reader_count(const struct reader *reader, const struct topic *topic, int32_t partition) {
    size_t count = 0;
    for (size_t i = 0; i < reader->count; i++) {
        count += reader->seen[i].topic == topic && reader->seen[i].partition == partition;
    }
    return count;
}

struct wanted {
    struct reader *reader;
    size_t count;
};

static bool has_count(void *context) {
    struct wanted *wanted = context;
    return wanted->reader->count >= wanted->count;
}

void reader_until(struct reader *reader, size_t count) {
    struct wanted wanted = {.reader = reader, .count = count};
    world_until(reader->world, has_count, &wanted, "the records have come");
    assert_int_equal(reader->count, count);
}

static bool owns_count(void *context) {
    struct wanted *wanted = context;
    return wanted->reader->owned_count == wanted->count && wanted->reader->assignments;
}

void reader_until_assigned(struct reader *reader, size_t owned) {
    struct wanted wanted = {.reader = reader, .count = owned};
    world_until(reader->world, owns_count, &wanted, "the partitions are assigned");
}

bool reader_owns(const struct reader *reader, const struct topic *topic, int32_t partition) {
    for (size_t i = 0; i < reader->owned_count; i++) {
        if (reader->owned[i].topic == topic && reader->owned[i].partition == partition) return true;
    }
    return false;
}

/* ---- producers ---- */

struct kafka_producer *world_producer(struct world *world, const char *transactional_id) {
    struct kafka_producer_options options = {
        .loop = &world->loop, .settings = &world->settings, .transactional_id = transactional_id};
    struct kafka_producer *producer = NULL;
    struct error error = {.text = ""};
    if (kafka_producer_new(&options, &producer, &error)) fail_msg("%s", error.text);
    return producer;
}

void world_send(struct world *world, struct kafka_producer *producer, const struct topic *topic, int32_t partition,
                const char *value) {
    assert_int_equal(kafka_producer_send(producer, topic, partition, "k", 1, value, strlen(value), NULL), 0);
}

static bool nothing_pending(void *context) { return kafka_producer_pending(context) == 0; }

void world_flush(struct world *world, struct kafka_producer *producer) {
    world_until(world, nothing_pending, producer, "all is acknowledged");
}
