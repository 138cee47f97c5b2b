/* Small requests to Kafka brokers, by clients of bare librdkafka with the settings of the daemons (lib/kafka/producer.c, consumer.c).
 *
 *     bench-scale-requests BOOTSTRAP TOPIC PARTITIONS SECONDS WRITERS RATE RECORDS BYTES READERS LISTED WAIT_MS
 *
 * WRITERS together send RATE requests a second at random times, each with RECORDS records of BYTES bytes for one partition. Each of the
 * READERS follows LISTED partitions in a row from their ends: one that reads all sees each request. WAIT_MS: fetch.wait.max.ms. Prints
 *
 *     {"s":6.0,"produces":48012,"records":48012,"fetches":96000,"read":96024,"cpu_s":2.1}
 *
 * Requests are counted by librdkafka's statistics, from the start of the clients to the end; s is the time between.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "bench/floor.h"

enum { ARGUMENTS = 12, BATCH = 1000, FLUSH_MS = 60000, GATHER_MS = 5, SECOND_US = 1000000, DRAIN_US = 100000 };

struct client {
    rd_kafka_t *kafka;
    rd_kafka_topic_t *topic; /* of a writer */
    rd_kafka_queue_t *queue; /* of a reader */
    int64_t produces, fetches, read;
};

/* What is written. */
struct load {
    double rate; /* requests a second */
    int partitions, records;
    size_t bytes; /* a record */
    uint8_t *payload;
};

/* The sum over all brokers of what the statistics say under that name. */
static int64_t sum(const char *json, const char *name) {
    int64_t found = 0;
    size_t length = strlen(name);
    for (const char *at = strstr(json, name); at; at = strstr(at + length, name)) found += atoll(at + length);
    return found;
}

static int on_statistics(rd_kafka_t *kafka, char *json, size_t size, void *opaque) {
    struct client *client = opaque;
    client->produces = sum(json, "\"Produce\":");
    client->fetches = sum(json, "\"Fetch\":");
    return 0; // librdkafka frees the text
}

static void on_failed(rd_kafka_t *kafka, const rd_kafka_message_t *message, void *opaque) {
    if (message->err) bench_fail(rd_kafka_message_errstr(message));
}

static void open_client(struct client *client, rd_kafka_type_t type, const char *bootstrap, const char *more) {
    rd_kafka_conf_t *conf =
        floor_settings("bootstrap.servers=%s socket.nagle.disable=true statistics.interval.ms=500 %s", bootstrap, more);
    rd_kafka_conf_set_stats_cb(conf, on_statistics);
    if (type == RD_KAFKA_PRODUCER) rd_kafka_conf_set_dr_msg_cb(conf, on_failed);
    rd_kafka_conf_set_opaque(conf, client);
    *client = (struct client){.kafka = floor_client(type, conf)};
}

static void open_writer(struct client *writer, const char *bootstrap, const char *topic, int records) {
    char settings[256];
    snprintf(settings, sizeof settings, "acks=all enable.idempotence=true linger.ms=%d batch.num.messages=%d",
             records > 1 ? GATHER_MS : 0, records);
    open_client(writer, RD_KAFKA_PRODUCER, bootstrap, settings);
    writer->topic = rd_kafka_topic_new(writer->kafka, topic, NULL);
}

static void open_reader(struct client *reader, const char *bootstrap, const char *topic, const char *wait_ms, int first,
                        int listed, int partitions) {
    char settings[256];
    snprintf(settings, sizeof settings,
             "group.id=bench-scale-requests enable.auto.commit=false isolation.level=read_committed "
             "enable.partition.eof=true fetch.wait.max.ms=%s fetch.min.bytes=1",
             wait_ms);
    open_client(reader, RD_KAFKA_CONSUMER, bootstrap, settings);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(listed);
    for (int p = 0; p < listed; p++)
        rd_kafka_topic_partition_list_add(list, topic, (first + p) % partitions)->offset = RD_KAFKA_OFFSET_END;
    if (rd_kafka_assign(reader->kafka, list)) bench_fail("the partitions cannot be read");
    rd_kafka_topic_partition_list_destroy(list);
    reader->queue = rd_kafka_queue_get_consumer(reader->kafka);
}

/* Takes what the clients have; they go on by themselves as long as that is little. */
static void drain(struct client *clients, int count) {
    rd_kafka_message_t *messages[BATCH];
    for (struct client *client = clients; client < clients + count; client++) {
        rd_kafka_poll(client->kafka, 0);
        ssize_t got = client->queue ? BATCH : 0;
        while (got == BATCH) {
            got = rd_kafka_consume_batch_queue(client->queue, 0, messages, BATCH);
            for (ssize_t i = 0; i < got; i++) {
                client->read += !messages[i]->err;
                rd_kafka_message_destroy(messages[i]);
            }
        }
    }
}

static void wait_until(int64_t us) {
    const struct timespec until = {.tv_sec = us / SECOND_US, .tv_nsec = us % SECOND_US * 1000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void wait_draining(struct client *clients, int count, int64_t until_us) {
    for (int64_t now = clock_monotonic_us(); now < until_us; now = clock_monotonic_us()) {
        wait_until(now + DRAIN_US < until_us ? now + DRAIN_US : until_us);
        drain(clients, count);
    }
}

static void send_request(const struct client *writer, const struct load *load) {
    int32_t partition = (int32_t)(lrand48() % load->partitions);
    for (int i = 0; i < load->records; i++)
        if (rd_kafka_produce(writer->topic, partition, RD_KAFKA_MSG_F_COPY, load->payload, load->bytes, NULL, 0, NULL))
            bench_fail(rd_kafka_err2str(rd_kafka_last_error()));
}

/* Exponential distances: requests of many clients that know nothing of each other. */
static double distance_us(double rate) { return -log(1 - drand48()) / rate * SECOND_US; }

/* Sends requests for so long; returns how many. Each has its time, and comes late rather than not at all. */
static int64_t send_all(struct client *clients, int count, int writers, const struct load *load, int64_t for_us) {
    int64_t began = clock_monotonic_us(), drained = began, sent = 0;
    double at_us = distance_us(load->rate); // since the beginning
    while (at_us < (double)for_us) {
        int64_t due = began + (int64_t)at_us;
        if (due > drained + DRAIN_US) {
            drain(clients, count);
            drained = due;
        }
        wait_until(due);
        send_request(&clients[sent % writers], load);
        sent++;
        at_us += distance_us(load->rate);
    }
    return sent;
}

int main(int argc, char **argv) {
    if (argc != ARGUMENTS) bench_fail("see its head for the arguments");
    struct load load = {
        .rate = atof(argv[6]), .partitions = atoi(argv[3]), .records = atoi(argv[7]), .bytes = (size_t)atoll(argv[8])};
    int writers = atoi(argv[5]), readers = atoi(argv[9]), listed = atoi(argv[10]), count = writers + readers;
    int64_t for_us = (int64_t)(atof(argv[4]) * SECOND_US);
    load.payload = calloc(load.bytes + 1, 1);
    for (size_t i = 0; i < load.bytes; i++) load.payload[i] = (uint8_t)rand();
    struct client *clients = calloc((size_t)count + 1, sizeof *clients);
    int64_t began = clock_monotonic_us();
    for (int i = 0; i < count; i++) {
        if (i < writers)
            open_writer(&clients[i], argv[1], argv[2], load.records);
        else
            open_reader(&clients[i], argv[1], argv[2], argv[11], (i - writers) * listed, listed, load.partitions);
    }
    wait_draining(clients, count, clock_monotonic_us() + SECOND_US);

    int64_t end = clock_monotonic_us() + for_us;
    int64_t sent = writers > 0 && load.rate > 0 ? send_all(clients, count, writers, &load, for_us) : 0;
    for (int i = 0; i < writers; i++)
        if (rd_kafka_flush(clients[i].kafka, FLUSH_MS)) bench_fail("not all was acknowledged");
    wait_draining(clients, count, end);

    // Nobody asks any more, so that the next statistics have counted everything.
    for (int i = writers; i < count; i++)
        if (rd_kafka_assign(clients[i].kafka, NULL)) bench_fail("reading cannot be ended");
    wait_draining(clients, count, clock_monotonic_us() + SECOND_US);
    struct client all = {.kafka = NULL};
    for (int i = 0; i < count; i++) {
        all.produces += clients[i].produces;
        all.fetches += clients[i].fetches;
        all.read += clients[i].read;
    }
    printf("{\"s\":%.3f,\"produces\":%lld,\"records\":%lld,\"fetches\":%lld,\"read\":%lld,\"cpu_s\":%.3f}\n",
           (double)(clock_monotonic_us() - began) / SECOND_US, (long long)all.produces, (long long)sent * load.records,
           (long long)all.fetches, (long long)all.read, bench_cpu_s());
    for (int i = 0; i < count; i++) {
        if (clients[i].topic) rd_kafka_topic_destroy(clients[i].topic);
        if (clients[i].queue) rd_kafka_queue_destroy(clients[i].queue);
        if (i >= writers) rd_kafka_consumer_close(clients[i].kafka);
        rd_kafka_destroy(clients[i].kafka);
    }
    free(clients);
    free(load.payload);
    return 0;
}
