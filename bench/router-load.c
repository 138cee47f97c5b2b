/* What `./dev bench router` loads before it measures, and the floor of what it measures.
 *
 *     bench-router-load WHAT [--NAME VALUE ...]
 *
 *     sharing   everybody present opts in           --bootstrap --prefix
 *     joins     everybody present opens a session   --bootstrap --prefix
 *     reports   rounds of reports                   --bootstrap --prefix --rounds
 *     lists     the router's friend lists           --path (its data.dir)
 *     dump      friend lists for peers              --path (a file): for each reporter id, count, ids; 4 bytes each, big-endian
 *     floor     the join and its reading of friend lists alone, from memory: no Kafka, no encoding. --path --rounds
 *
 * The world's numbers: --present --reporters --partitions --routes --seed --time.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "bench/machine.h"
#include "bench/router_world.h"
#include "bench/sender.h"
#include "event/codec.h"
#include "event/topics.h"
#include "adjacency/private.h"
#include "router/graph_private.h"
#include "router/join.h"

enum { LISTS_A_BATCH = 500, MEMORY = 1 << 30 };

struct options {
    struct world world;
    const char *bootstrap, *prefix, *path;
    int64_t rounds;
};

static void fail(const char *what, const struct error *error) {
    fprintf(stderr, "bench-router-load: %s: %s\n", what, error->text);
    exit(1);
}

/* ---- to Kafka ---- */

static void sender_put(struct sender *sender, const struct topic *topic, int64_t user) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    sender_send(sender, topic, KAFKA_PARTITION_BY_KEY, key, sizeof key);
}

static void load_sharing(const struct options *options, struct sender *sender) {
    const struct sharing sharing = {.mode = SHARING_FRIENDS};
    for (int64_t i = 0; i < options->world.present; i++) {
        event_encode_sharing(&sender->value, &sharing);
        sender_put(sender, &TOPIC_SHARING, world_id(world_present_index(i)));
    }
}

static void load_joins(const struct options *options, struct sender *sender) {
    for (int64_t i = 0; i < options->world.present; i++) {
        struct location event = world_location(&options->world, world_present_index(i), -1);
        event_encode_location(&sender->value, &event);
        sender_put(sender, &TOPIC_LOCATIONS, event.user);
    }
}

static void load_reports(const struct options *options, struct sender *sender) {
    const struct world *world = &options->world;
    for (int64_t round = 0; round < options->rounds; round++) {
        for (int64_t turn = 0; turn < world->reporters; turn++) {
            int64_t index = world_reporter_index(world, world_speaker(world, round, turn));
            struct location event = world_location(world, index, round);
            event_encode_location(&sender->value, &event);
            sender_put(sender, &TOPIC_LOCATIONS, event.user);
        }
    }
}

/* ---- friend lists ---- */

static struct graph *lists_open(const struct options *options, char **folder) {
    struct error error = {.text = ""};
    struct graph *graph;
    *folder = mem_format("%s/friends", options->path);
    struct graph_options how = {.path = *folder,
                                .partitions = options->world.partitions,
                                .cap = WORLD_NEIGHBOURS,
                                .max_age_ms = 86400000,
                                .memory_bytes = MEMORY};
    if (graph_open(&how, &graph, &error)) fail(*folder, &error);
    for (int32_t p = 0; p < options->world.partitions; p++) {
        int64_t from;
        if (adjacency_attach(graph_lists(graph), p, clock_wall_ms(), &from, &error)) fail(*folder, &error);
    }
    return graph;
}

/* Past adjacency_add, which sorts what comes in no order: here whole lists come. The written rows are the same. */
static void load_lists(const struct options *options) {
    const struct world *world = &options->world;
    struct error error = {.text = ""};
    char *folder;
    struct graph *graph = lists_open(options, &folder);
    struct adjacency *lists = graph->lists;
    struct store_batch *batch = store_batch_new();
    struct buffer bytes = {.data = NULL};
    int64_t friends[WORLD_NEIGHBOURS];
    uint64_t halves = 0, total = 0;
    for (int32_t p = 0; p < world->partitions; p++) { // all of nothing is read
        if (adjacency_apply(graph_lists(graph), p, 0, clock_wall_ms(), true, &error) ||
            adjacency_finish(graph_lists(graph), p, clock_wall_ms(), &error))
            fail(folder, &error);
    }
    for (int64_t i = 0; i < world->reporters; i++) {
        int64_t index = world_reporter_index(world, i), user = world_id(index);
        struct adjacency_key key = adjacency_root_key(user, 0);
        size_t count = world_friend_ids(world, index, false, friends);
        buffer_clear(&bytes);
        adjacency_root_encode(&bytes, &(struct id_list){.items = friends, .count = count});
        store_batch_put(batch, lists->parts[hash_user_partition(user, world->partitions)].family, key.bytes, key.size,
                        bytes.data, bytes.size);
        halves += count;
        total += bytes.size;
        if (store_batch_count(batch) < LISTS_A_BATCH && i < world->reporters - 1) continue;
        if (store_write(lists->store, batch, false, &error)) fail(folder, &error);
        store_batch_clear(batch);
    }
    for (int32_t p = 0; p < world->partitions; p++) {
        if (store_compact(lists->store, lists->parts[p].family)) fail(folder, &error);
    }
    printf("%llu half-edges, %.2f bytes each\n", (unsigned long long)halves, (double)total / (double)halves);
    store_batch_free(batch);
    buffer_free(&bytes);
    graph_close(graph);
    free(folder);
}

static void dump_lists(const struct options *options) {
    const struct world *world = &options->world;
    FILE *file = fopen(options->path, "wb");
    int64_t friends[WORLD_NEIGHBOURS];
    uint8_t bytes[4 * (WORLD_NEIGHBOURS + 2)];
    bool written = file != NULL;
    for (int64_t i = 0; written && i < world->reporters; i++) {
        int64_t index = world_reporter_index(world, i);
        size_t count = world_friend_ids(world, index, false, friends);
        bytes_put_be32(bytes, (uint32_t)world_id(index));
        bytes_put_be32(bytes + 4, (uint32_t)count);
        for (size_t f = 0; f < count; f++) bytes_put_be32(bytes + 8 + 4 * f, (uint32_t)friends[f]);
        written = fwrite(bytes, 4 * (count + 2), 1, file) == 1;
    }
    if (file && fclose(file)) written = false;
    if (written) return;
    fprintf(stderr, "bench-router-load: %s: %s\n", options->path, strerror(errno));
    exit(1);
}

/* ---- the floor ---- */

/* What a pass does of each report: makes it, reads the list, joins; or joins with a list of those who are present alone that
 * lies ready: what a perfect cache of active friends would leave. */
enum depth { REPORTS_ONLY, AND_READ, AND_JOIN, JOIN_PRESENT };

struct floor {
    const struct options *options;
    struct graph *graph;
    struct join_context context;
    struct join_result result;
    struct id_list friends;
    struct rounding_list roundings;
    struct id_list *present; /* by number of reporter */
    uint64_t told, sum;
};

static void make_present_lists(struct floor *floor) {
    const struct world *world = &floor->options->world;
    int64_t ids[WORLD_NEIGHBOURS];
    floor->present = mem_zero((size_t)world->reporters, sizeof *floor->present);
    for (int64_t i = 0; i < world->reporters; i++) {
        size_t count = world_friend_ids(world, world_reporter_index(world, i), true, ids);
        id_list_reserve(&floor->present[i], count);
        memcpy(floor->present[i].items, ids, count * sizeof *ids);
        floor->present[i].count = count;
    }
}

/* One pass over all rounds: its CPU seconds. */
static double pass(struct floor *floor, enum depth depth) {
    const struct world *world = &floor->options->world;
    struct error error = {.text = ""};
    double before = bench_cpu_s();
    for (int64_t i = 0; i < floor->options->rounds * world->reporters; i++) {
        int64_t round = i / world->reporters, turn = i % world->reporters;
        int64_t speaker = world_speaker(world, round, turn);
        struct location event = world_location(world, world_reporter_index(world, speaker), round);
        const struct id_list *friends = depth == JOIN_PRESENT ? &floor->present[speaker] : &floor->friends;
        floor->sum += (uint64_t)event.lat; // so that it is made
        if (depth == REPORTS_ONLY) continue;
        if (depth >= AND_JOIN && !join_event(&floor->context, &event, &floor->result)) continue;
        int32_t partition = hash_user_partition(event.user, world->partitions);
        if (depth < JOIN_PRESENT &&
            (graph_friends(floor->graph, partition, event.user, &floor->friends, &error) ||
             graph_roundings(floor->graph, partition, event.user, &floor->friends, &floor->roundings, &error)))
            fail("a friend list", &error);
        if (depth == AND_READ) continue;
        join_reserve(&floor->result, friends->count);
        join_friends(&floor->context, friends->items, friends->count, &floor->roundings, &floor->result);
        floor->told += floor->result.recipient_count;
    }
    return bench_cpu_s() - before;
}

/* A presence as before the first report. */
static void everybody_joins(struct floor *floor) {
    const struct world *world = &floor->options->world;
    presence_free(floor->context.presence);
    floor->context.presence = presence_new();
    for (int64_t i = 0; i < world->present; i++) {
        struct location event = world_location(world, world_present_index(i), -1);
        presence_apply(floor->context.presence, &event, NULL, NULL);
    }
}

static void measure_floor(const struct options *options) {
    const struct world *world = &options->world;
    char *folder;
    struct floor floor = {.options = options,
                          .graph = lists_open(options, &folder),
                          .context = {.now = world->time + (options->rounds + 1) * 1000,
                                      .inactive_ms = 600000,
                                      .radius_m = GEO_RADIUS_DEFAULT_M,
                                      .rounded = grid_of(6),
                                      .warm = true}};
    join_result_init(&floor.result);
    make_present_lists(&floor);
    everybody_joins(&floor);
    pass(&floor, AND_READ); // the lists are in memory after that
    double making = pass(&floor, REPORTS_ONLY), reading = pass(&floor, AND_READ), all = pass(&floor, AND_JOIN);
    uint64_t told = floor.told;
    everybody_joins(&floor);
    double present = pass(&floor, JOIN_PRESENT), reports = (double)(options->rounds * world->reporters);
    printf("{\"reports\":%.0f,\"read_us\":%.3f,\"join_us\":%.3f,\"join_present_us\":%.3f,\"deliveries\":%llu,"
           "\"sum\":%llu}\n",
           reports, (reading - making) / reports * 1e6, (all - reading) / reports * 1e6,
           (present - making) / reports * 1e6, (unsigned long long)told, (unsigned long long)floor.sum);
    for (int64_t i = 0; i < world->reporters; i++) id_list_free(&floor.present[i]);
    free(floor.present);
    id_list_free(&floor.friends);
    join_result_free(&floor.result);
    presence_free(floor.context.presence);
    graph_close(floor.graph);
    free(folder);
}

/* ---- arguments ---- */

static int64_t *number_of(struct options *options, const char *name) {
    struct world *world = &options->world;
    if (!strcmp(name, "--present")) return &world->present;
    if (!strcmp(name, "--reporters")) return &world->reporters;
    if (!strcmp(name, "--time")) return &world->time;
    if (!strcmp(name, "--rounds")) return &options->rounds;
    return NULL;
}

static bool take_option(struct options *options, const char *name, const char *value) {
    struct world *world = &options->world;
    int64_t *number = number_of(options, name);
    if (number)
        *number = atoll(value);
    else if (!strcmp(name, "--seed"))
        world->seed = strtoull(value, NULL, 10);
    else if (!strcmp(name, "--partitions"))
        world->partitions = atoi(value);
    else if (!strcmp(name, "--routes"))
        world->routes = atoi(value);
    else if (!strcmp(name, "--bootstrap"))
        options->bootstrap = value;
    else if (!strcmp(name, "--prefix"))
        options->prefix = value;
    else if (!strcmp(name, "--path"))
        options->path = value;
    else
        return false;
    return true;
}

static int to_kafka(const struct options *options, void (*load)(const struct options *, struct sender *)) {
    struct kafka_settings settings = {.topics = &TOPICS_ALL,
                                      .bootstrap = options->bootstrap,
                                      .prefix = options->prefix,
                                      .client_id = "bench-router-load"};
    struct sender sender;
    sender_open(&sender, &settings);
    load(options, &sender);
    sender_close(&sender);
    return 0;
}

int main(int argc, char **argv) {
    struct options options = {
        .world = {.seed = 1, .present = 1000000, .reporters = 200000, .partitions = 16, .routes = 64, .time = 1},
        .bootstrap = "127.0.0.1:9092",
        .prefix = "bench.",
        .path = ".",
        .rounds = 1,
    };
    const char *what = argc > 1 ? argv[1] : "";
    for (int i = 2; i < argc; i += 2) {
        if (i + 1 < argc && take_option(&options, argv[i], argv[i + 1])) continue;
        fprintf(stderr, "bench-router-load: %s: no such option, or no value for it\n", argv[i]);
        return 2;
    }
    if (!strcmp(what, "sharing")) return to_kafka(&options, load_sharing);
    if (!strcmp(what, "joins")) return to_kafka(&options, load_joins);
    if (!strcmp(what, "reports")) return to_kafka(&options, load_reports);
    if (!strcmp(what, "lists"))
        load_lists(&options);
    else if (!strcmp(what, "dump"))
        dump_lists(&options);
    else if (!strcmp(what, "floor"))
        measure_floor(&options);
    else
        return fprintf(stderr, "bench-router-load: what: sharing, joins, reports, lists, dump or floor\n"), 2;
    return 0;
}
