/* A bare member of a consumer group with a transactional producer: what Kafka itself allows, no code of ours.
 *
 *     bench-transactions-floor BOOTSTRAP GROUP MEMBER IN OUT COPIES
 *
 * Copies each record from one topic to another so many times, each batch in a transaction with its offsets, and is as patient as starling's daemons. Prints a
 * line a committed transaction: monotonic seconds, and how many records it had. */
#include <stdbool.h>
#include <time.h>

#include "bench/floor.h"

enum { BATCH = 2000, WAIT_MS = 50, TIMEOUT_MS = 8000, START_MS = 10000, PARTITIONS_MAX = 64 };

struct bench {
    const char *bootstrap, *group, *member, *in, *out;
    int copies;
    rd_kafka_t *consumer, *producer;
    rd_kafka_queue_t *queue;
    rd_kafka_topic_t *topic;
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Says what failed; true: it is all right. */
static bool well(rd_kafka_error_t *error, const char *doing) {
    if (!error) return true;
    fprintf(stderr, "%.3f %s: %s\n", now_s(), doing, rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return false;
}

static void open_producer(struct bench *bench) {
    do {
        if (bench->topic) rd_kafka_topic_destroy(bench->topic);
        if (bench->producer) rd_kafka_destroy(bench->producer);
        bench->producer = floor_client(
            RD_KAFKA_PRODUCER,
            floor_settings("bootstrap.servers=%s transactional.id=%s-%s transaction.timeout.ms=5000 linger.ms=100 "
                           "message.max.bytes=1048000 socket.nagle.disable=true reconnect.backoff.max.ms=1000",
                           bench->bootstrap, bench->group, bench->member));
        bench->topic = rd_kafka_topic_new(bench->producer, bench->out, NULL);
    } while (!well(rd_kafka_init_transactions(bench->producer, START_MS), "starting"));
}

static void open_consumer(struct bench *bench) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    bench->consumer = floor_client(
        RD_KAFKA_CONSUMER,
        floor_settings("bootstrap.servers=%s group.id=%s enable.auto.commit=false auto.offset.reset=earliest "
                       "isolation.level=read_committed session.timeout.ms=6000 heartbeat.interval.ms=500 "
                       "fetch.wait.max.ms=50 socket.nagle.disable=true reconnect.backoff.max.ms=1000",
                       bench->bootstrap, bench->group));
    rd_kafka_poll_set_consumer(bench->consumer);
    bench->queue = rd_kafka_queue_get_consumer(bench->consumer);
    rd_kafka_topic_partition_list_add(list, bench->in, RD_KAFKA_PARTITION_UA);
    if (rd_kafka_subscribe(bench->consumer, list)) bench_fail("the topic cannot be read");
    rd_kafka_topic_partition_list_destroy(list);
}

/* Of a batch: behind the last record of each partition (next), or the first one (first). */
static void positions(rd_kafka_message_t **messages, ssize_t count, rd_kafka_topic_partition_list_t *first,
                      rd_kafka_topic_partition_list_t *next) {
    for (ssize_t i = 0; i < count; i++) {
        const char *name = rd_kafka_topic_name(messages[i]->rkt);
        int32_t partition = messages[i]->partition;
        rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_find(next, name, partition);
        if (!at) {
            rd_kafka_topic_partition_list_add(first, name, partition)->offset = messages[i]->offset;
            at = rd_kafka_topic_partition_list_add(next, name, partition);
        }
        at->offset = messages[i]->offset + 1;
    }
}

static bool commit(struct bench *bench, const rd_kafka_topic_partition_list_t *next) {
    rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(bench->consumer);
    bool done = well(rd_kafka_send_offsets_to_transaction(bench->producer, next, group, TIMEOUT_MS), "offsets") &&
                well(rd_kafka_commit_transaction(bench->producer, TIMEOUT_MS), "committing");
    rd_kafka_consumer_group_metadata_destroy(group);
    return done;
}

static bool transact(struct bench *bench, rd_kafka_message_t **messages, ssize_t count,
                     const rd_kafka_topic_partition_list_t *next) {
    if (!well(rd_kafka_begin_transaction(bench->producer), "beginning")) return false;
    for (ssize_t i = 0; i < count * bench->copies; i++)
        rd_kafka_produce(bench->topic, messages[i % count]->partition, RD_KAFKA_MSG_F_COPY,
                         messages[i % count]->payload, messages[i % count]->len, NULL, 0, NULL);
    return commit(bench, next);
}

static void copy(struct bench *bench, rd_kafka_message_t **messages, ssize_t count) {
    rd_kafka_topic_partition_list_t *first = rd_kafka_topic_partition_list_new(PARTITIONS_MAX);
    rd_kafka_topic_partition_list_t *next = rd_kafka_topic_partition_list_new(PARTITIONS_MAX);
    positions(messages, count, first, next);
    if (transact(bench, messages, count, next)) {
        printf("%.3f %zd\n", now_s(), count);
        fflush(stdout);
    } else {
        if (!well(rd_kafka_abort_transaction(bench->producer, TIMEOUT_MS), "aborting")) open_producer(bench);
        well(rd_kafka_seek_partitions(bench->consumer, first, TIMEOUT_MS), "going back");
    }
    rd_kafka_topic_partition_list_destroy(first);
    rd_kafka_topic_partition_list_destroy(next);
}

int main(int argc, char **argv) {
    static rd_kafka_message_t *messages[BATCH];
    if (argc != 7) bench_fail("its head says which arguments there are");
    struct bench bench = {argv[1], argv[2], argv[3], argv[4], argv[5], atoi(argv[6]), NULL, NULL, NULL, NULL};
    open_producer(&bench);
    open_consumer(&bench);
    for (;;) {
        ssize_t got = rd_kafka_consume_batch_queue(bench.queue, WAIT_MS, messages, BATCH), count = 0;
        for (ssize_t i = 0; i < got; i++) {
            if (messages[i]->err)
                rd_kafka_message_destroy(messages[i]);
            else
                messages[count++] = messages[i];
        }
        if (count) copy(&bench, messages, count);
        while (count) rd_kafka_message_destroy(messages[--count]);
        rd_kafka_poll(bench.producer, 0);
    }
}
