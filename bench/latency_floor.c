/* Two bare Kafka hops: a message is produced, consumed, produced again, consumed again, by three threads that do nothing
 * else, each hop with the settings for the least delay and the promises of ours (acks=all, idempotent).
 *
 *     bench-latency_floor BOOTSTRAP TOPIC1 TOPIC2 SECONDS RATE...
 *
 * The topics must exist. Prints one JSON object a rate.
 */
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

enum { VALUE_BYTES = 64, ROOM = 1000000, PARTITIONS = 4 };

struct floor {
    const char *bootstrap, *topics[2];
    rd_kafka_t *producers[2], *consumers[2];
    float *latencies;
    atomic_size_t seen;
    atomic_bool stop;
};

static rd_kafka_t *client(const struct floor *floor, rd_kafka_type_t type) {
    static const char *const SETTINGS[][2] = {{"enable.idempotence", "true"}, {"acks", "all"}, {"linger.ms", "0"}};
    char reason[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", floor->bootstrap, reason, sizeof reason);
    rd_kafka_conf_set(conf, "socket.nagle.disable", "true", reason, sizeof reason);
    for (size_t i = 0; type == RD_KAFKA_PRODUCER && i < 3; i++)
        rd_kafka_conf_set(conf, SETTINGS[i][0], SETTINGS[i][1], reason, sizeof reason);
    if (type == RD_KAFKA_CONSUMER) rd_kafka_conf_set(conf, "group.id", "floor", reason, sizeof reason);
    rd_kafka_t *made = rd_kafka_new(type, conf, reason, sizeof reason);
    if (!made) {
        fprintf(stderr, "%s\n", reason);
        exit(1);
    }
    return made;
}

static void read_from_end(rd_kafka_t *consumer, const char *topic) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(PARTITIONS);
    for (int p = 0; p < PARTITIONS; p++)
        rd_kafka_topic_partition_list_add(list, topic, p)->offset = RD_KAFKA_OFFSET_END;
    rd_kafka_poll_set_consumer(consumer);
    rd_kafka_assign(consumer, list);
    rd_kafka_topic_partition_list_destroy(list);
}

static void produce(rd_kafka_t *producer, const char *topic, const void *value, uint64_t number) {
    rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION((int32_t)(number % PARTITIONS)),
                      RD_KAFKA_V_VALUE((void *)(uintptr_t)value, VALUE_BYTES), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                      RD_KAFKA_V_END);
    rd_kafka_poll(producer, 0);
}

static void *relay(void *context) {
    struct floor *floor = context;
    for (uint64_t number = 0; !floor->stop; number++) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(floor->consumers[0], 100);
        if (!message) continue;
        if (!message->err) produce(floor->producers[1], floor->topics[1], message->payload, number);
        rd_kafka_message_destroy(message);
    }
    return NULL;
}

static void *sink(void *context) {
    struct floor *floor = context;
    while (!floor->stop) {
        int64_t sent;
        rd_kafka_message_t *message = rd_kafka_consumer_poll(floor->consumers[1], 100);
        if (!message) continue;
        if (!message->err && message->len == VALUE_BYTES && floor->seen < ROOM) {
            memcpy(&sent, message->payload, sizeof sent);
            floor->latencies[floor->seen] = (float)(clock_monotonic_us() - sent);
            floor->seen++;
        }
        rd_kafka_message_destroy(message);
    }
    return NULL;
}

static int by_size(const void *left, const void *right) {
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

static void measure(struct floor *floor, double rate, int seconds) {
    char value[VALUE_BYTES] = "";
    floor->seen = 0;
    int64_t start = clock_monotonic_us(), until = start + seconds * INT64_C(1000000);
    uint64_t sent = 0;
    for (int64_t now = start; now < until; now = clock_monotonic_us()) {
        for (; (double)sent < (double)(now - start) / 1e6 * rate; sent++) {
            int64_t at = clock_monotonic_us();
            memcpy(value, &at, sizeof at);
            produce(floor->producers[0], floor->topics[0], value, sent);
        }
        usleep(200);
    }
    usleep(500000);
    size_t seen = floor->seen;
    qsort(floor->latencies, seen, sizeof *floor->latencies, by_size);
    printf("{\"rate\":%.0f,\"sent\":%" PRIu64 ",\"seen\":%zu", rate, sent, seen);
    if (seen)
        printf(",\"p50_us\":%.0f,\"p99_us\":%.0f,\"p999_us\":%.0f", (double)floor->latencies[seen / 2],
               (double)floor->latencies[seen * 99 / 100], (double)floor->latencies[seen * 999 / 1000]);
    printf("}\n");
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "usage: bench-latency_floor BOOTSTRAP TOPIC1 TOPIC2 SECONDS RATE...\n");
        return 2;
    }
    struct floor floor = {
        .bootstrap = argv[1], .topics = {argv[2], argv[3]}, .latencies = mem_alloc(ROOM * sizeof(float))};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        floor.producers[i] = client(&floor, RD_KAFKA_PRODUCER);
        floor.consumers[i] = client(&floor, RD_KAFKA_CONSUMER);
        read_from_end(floor.consumers[i], floor.topics[i]);
    }
    pthread_create(&threads[0], NULL, relay, &floor);
    pthread_create(&threads[1], NULL, sink, &floor);
    sleep(3);
    measure(&floor, 100, 2); /* warms up, and is not counted: it is printed first */
    for (int i = 5; i < argc; i++) measure(&floor, atof(argv[i]), atoi(argv[4]));
    floor.stop = true;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
