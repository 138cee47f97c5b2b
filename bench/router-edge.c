/* What edges do with the router's deliveries until they know what to show: so much more than the router costs.
 *
 *     bench-router-edge BOOTSTRAP PREFIX FIRST LAST
 *
 * Reads the partitions of deliveries between the offsets of FIRST and LAST (comma-separated, one a partition) as an edge
 * does, decodes each batch, finds the recipient of each position and computes whether it is near. One process for all
 * routes: bench edge measures the real edge, its sockets included. Prints CPU seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "bench/arguments.h"
#include "deliver/envelope.h"
#include "event/delivery.h"
#include "event/topics.h"
#include "geo/geo.h"
#include "kafka/consumer.h"

enum { PARTITIONS_MAX = 1024 };

struct edge {
    uv_loop_t loop;
    struct kafka_consumer *consumer;
    struct codec *codec;
    struct deliver_reader *batches;
    struct map *sessions; /* user -> where: lat << 32 | lng */
    int64_t last[PARTITIONS_MAX];
    uint64_t deliveries, near, strange;
    size_t waited_for; /* partitions */
};

static void take_move(struct edge *edge, const struct deliver_envelope *envelope, const struct move *move) {
    struct geo_point at = {move->lat, move->lng};
    struct geo_circle circle = geo_circle(at, GEO_RADIUS_DEFAULT_M);
    for (size_t i = 0; i < envelope->recipient_count; i++) {
        bool created;
        uint64_t *where = map_put(edge->sessions, (uint64_t)envelope->recipients[i], &created);
        // Nobody has said where the recipient is: near enough to who moves, once and for all.
        if (created) *where = (uint64_t)(uint32_t)at.lat << 32 | (uint32_t)at.lng;
        struct geo_point here = {(int32_t)(*where >> 32), (int32_t)*where};
        edge->near += geo_near(&circle, here);
    }
    edge->deliveries += envelope->recipient_count;
}

static void take(void *context, const struct kafka_record *records, size_t count) {
    struct edge *edge = context;
    struct deliver_head head;
    struct deliver_envelope envelope;
    struct nearby_item item;
    struct error error;
    for (size_t i = 0; i < count; i++) {
        const struct kafka_record *record = &records[i];
        if (record->offset >= edge->last[record->partition]) continue;
        edge->waited_for -= record->offset == edge->last[record->partition] - 1;
        if (deliver_reader_start(edge->batches, record->value, record->value_size, &head, &error))
            bench_fail(error.text);
        int more;
        while ((more = deliver_reader_next(edge->batches, &envelope)) == 1) {
            if (delivery_read_nearby(edge->codec, envelope.payload, envelope.payload_size, &item))
                bench_fail("an item is malformed");
            if (item.kind == NEARBY_ITEM_MOVE)
                take_move(edge, &envelope, &item.move);
            else
                edge->strange++;
        }
        if (more < 0) bench_fail("a batch is malformed");
    }
}

int main(int argc, char **argv) {
    struct edge edge = {.codec = codec_new(), .batches = deliver_reader_new(), .sessions = map_new()};
    struct error error;
    int64_t first[PARTITIONS_MAX];
    struct kafka_position positions[PARTITIONS_MAX];
    if (argc != 5) bench_fail("see its head for the arguments");
    size_t count = arguments_numbers(argv[3], first, PARTITIONS_MAX);
    if (arguments_numbers(argv[4], edge.last, PARTITIONS_MAX) != count)
        bench_fail("as many last offsets as first ones");
    for (size_t p = 0; p < count; p++) {
        positions[p] = (struct kafka_position){.topic = &TOPIC_DELIVERIES, .partition = (int32_t)p, .offset = first[p]};
        edge.waited_for += first[p] < edge.last[p];
    }
    uv_loop_init(&edge.loop);
    struct kafka_settings settings = {
        .topics = &TOPICS_ALL, .bootstrap = argv[1], .prefix = argv[2], .client_id = "bench-router-edge"};
    struct kafka_consumer_options options = {
        .loop = &edge.loop, .settings = &settings, .context = &edge, .on_records = take};
    double before = bench_cpu_s();
    if (kafka_consumer_new(&options, &edge.consumer, &error) ||
        kafka_consumer_read(edge.consumer, positions, count, &error))
        bench_fail(error.text);
    while (edge.waited_for) uv_run(&edge.loop, UV_RUN_ONCE);
    printf("{\"deliveries\":%llu,\"near\":%llu,\"others\":%llu,\"cpu_s\":%.3f}\n", (unsigned long long)edge.deliveries,
           (unsigned long long)edge.near, (unsigned long long)edge.strange, bench_cpu_s() - before);
    kafka_consumer_free(edge.consumer);
    codec_free(edge.codec);
    deliver_reader_free(edge.batches);
    map_free(edge.sessions);
    return 0;
}
