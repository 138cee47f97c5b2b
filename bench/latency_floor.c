/* Two bare Kafka hops: a message is produced, consumed, produced again, consumed again, by three threads that do nothing
 * else, each hop with the settings for the least delay and the promises of ours (acks=all, idempotent).
 *
 *     bench-latency_floor BOOTSTRAP TOPIC1 TOPIC2 SECONDS RATE...
 *
 * The topics must exist. Prints one JSON object a rate.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bench/floor.h"

enum { VALUE_BYTES = 64, ROOM = 1000000, PARTITIONS = 4 };

struct floor {
    const char *bootstrap, *topics[2];
    rd_kafka_t *producers[2], *consumers[2];
    double *latencies;
    atomic_size_t seen;
    atomic_bool stop;
};

static rd_kafka_t *client(const struct floor *floor, rd_kafka_type_t type) {
    const char *more = type == RD_KAFKA_PRODUCER ? "enable.idempotence=true acks=all linger.ms=0" : "group.id=floor";
    return floor_client(type,
                        floor_settings("bootstrap.servers=%s socket.nagle.disable=true %s", floor->bootstrap, more));
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
            floor->latencies[floor->seen] = (double)(clock_monotonic_us() - sent);
            floor->seen++;
        }
        rd_kafka_message_destroy(message);
    }
    return NULL;
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
    bench_sort(floor->latencies, seen);
    printf("{\"rate\":%.0f,\"sent\":%" PRIu64 ",\"seen\":%zu,\"p50_us\":%.0f,\"p99_us\":%.0f,\"p999_us\":%.0f}\n", rate,
           sent, seen, bench_quantile(floor->latencies, seen, .5), bench_quantile(floor->latencies, seen, .99),
           bench_quantile(floor->latencies, seen, .999));
}

int main(int argc, char **argv) {
    if (argc < 6) bench_fail("its head says which arguments there are");
    struct floor floor = {
        .bootstrap = argv[1], .topics = {argv[2], argv[3]}, .latencies = mem_alloc(ROOM * sizeof(double))};
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
