/* The floor of `./dev bench router` in Kafka's part: bare librdkafka, no code of ours.
 *
 *     bench-router-floor BOOTSTRAP LOCATIONS FIRST LAST DELIVERIES ROUTES BATCHES BYTES
 *
 * Reads the topic LOCATIONS between the offsets of FIRST and LAST (comma-separated, one a partition) and writes, evenly in
 * between, BATCHES records of BYTES bytes to the partitions of DELIVERIES one after the other; then waits for all
 * acknowledgements. Prints CPU seconds.
 */
#include <stdint.h>
#include <stdlib.h>

#include "bench/arguments.h"
#include "bench/floor.h"

enum { BATCH = 1000, PARTITIONS_MAX = 1024, WAIT_MS = 100, FLUSH_MS = 60000 };

int main(int argc, char **argv) {
    int64_t first[PARTITIONS_MAX], last[PARTITIONS_MAX], wanted = 0, read = 0, sent = 0;
    if (argc != 9) bench_fail("see its head for the arguments");
    int count = (int)arguments_numbers(argv[3], first, PARTITIONS_MAX);
    if ((int)arguments_numbers(argv[4], last, PARTITIONS_MAX) != count)
        bench_fail("as many last offsets as first ones");
    int32_t routes = atoi(argv[6]);
    int64_t batches = atoll(argv[7]);
    size_t bytes = (size_t)atoll(argv[8]);
    uint8_t *payload = calloc(bytes, 1);
    for (size_t i = 0; i < bytes; i++) payload[i] = (uint8_t)rand();

    rd_kafka_t *consumer = floor_client(
        RD_KAFKA_CONSUMER, floor_settings("bootstrap.servers=%s group.id=bench-router-floor enable.auto.commit=false "
                                          "fetch.wait.max.ms=50 socket.nagle.disable=true",
                                          argv[1]));
    rd_kafka_t *producer = floor_client(
        RD_KAFKA_PRODUCER, floor_settings("bootstrap.servers=%s acks=all enable.idempotence=true linger.ms=0 "
                                          "queue.buffering.max.kbytes=65536 socket.nagle.disable=true",
                                          argv[1]));
    rd_kafka_topic_t *deliveries = rd_kafka_topic_new(producer, argv[5], NULL);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(count);
    for (int p = 0; p < count; p++) {
        rd_kafka_topic_partition_list_add(list, argv[2], p)->offset = first[p];
        wanted += last[p] - first[p];
    }
    rd_kafka_poll_set_consumer(consumer);
    if (rd_kafka_assign(consumer, list)) bench_fail("the partitions cannot be read");
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(consumer);
    rd_kafka_message_t *messages[BATCH];
    double before = bench_cpu_s();
    while (read < wanted || sent < batches) {
        ssize_t got = read < wanted ? rd_kafka_consume_batch_queue(queue, WAIT_MS, messages, BATCH) : 0;
        for (ssize_t i = 0; i < got; i++) {
            read += !messages[i]->err && messages[i]->offset < last[messages[i]->partition];
            rd_kafka_message_destroy(messages[i]);
        }
        while (sent < batches && (sent * wanted < batches * read || read >= wanted)) {
            if (rd_kafka_produce(deliveries, (int32_t)(sent % routes), RD_KAFKA_MSG_F_COPY, payload, bytes, NULL, 0,
                                 NULL))
                rd_kafka_poll(producer, 10);
            else
                sent++;
        }
        rd_kafka_poll(producer, 0);
    }
    rd_kafka_flush(producer, FLUSH_MS);
    printf("{\"reports\":%lld,\"batches\":%lld,\"cpu_s\":%.3f}\n", (long long)read, (long long)sent,
           bench_cpu_s() - before);
    rd_kafka_queue_destroy(queue);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_topic_destroy(deliveries);
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
    rd_kafka_destroy(producer);
    free(payload);
    return 0;
}
