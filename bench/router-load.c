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
#include "bench/arguments.h"
#include "bench/router_world.h"
#include "bench/sender.h"
#include "bench/stores.h"
#include "event/codec.h"
#include "event/topics.h"
#include "router/graph_private.h"
#include "router/join.h"
#include "users/report.h"

enum { MEMORY = 1 << 30 };

struct options {
    struct world world;
    const char *bootstrap, *prefix, *path;
    int64_t rounds;
};

/* ---- to Kafka ---- */

static void load_sharing(const struct options *options, struct sender *sender) {
    const struct sharing sharing = {.mode = SHARING_FRIENDS};
    for (int64_t i = 0; i < options->world.present; i++) {
        event_encode_sharing(&sender->value, &sharing);
        sender_send_user(sender, &TOPIC_SHARING, world_id(world_present_index(i)));
    }
}

static void load_joins(const struct options *options, struct sender *sender) {
    for (int64_t i = 0; i < options->world.present; i++) {
        struct location event = world_location(&options->world, world_present_index(i), -1);
        report_encode(&sender->value, &event);
        sender_send_user(sender, &TOPIC_LOCATIONS, event.user);
    }
}

static void load_reports(const struct options *options, struct sender *sender) {
    const struct world *world = &options->world;
    for (int64_t round = 0; round < options->rounds; round++) {
        for (int64_t turn = 0; turn < world->reporters; turn++) {
            int64_t index = world_reporter_index(world, world_speaker(world, round, turn));
            struct location event = world_location(world, index, round);
            report_encode(&sender->value, &event);
            sender_send_user(sender, &TOPIC_LOCATIONS, event.user);
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
    if (graph_open(&how, &graph, &error)) bench_die(*folder, error.text);
    stores_attach(graph_lists(graph), options->world.partitions);
    return graph;
}

static void load_lists(const struct options *options) {
    const struct world *world = &options->world;
    char *folder;
    struct graph *graph = lists_open(options, &folder);
    struct stores_lists lists = stores_lists_begin(graph_lists(graph), world->partitions);
    int64_t friends[WORLD_NEIGHBOURS];
    for (int64_t i = 0; i < world->reporters; i++) {
        int64_t index = world_reporter_index(world, i);
        stores_lists_put(&lists, world_id(index), 0, friends, world_friend_ids(world, index, false, friends));
    }
    stores_lists_end(&lists);
    printf("%llu half-edges, %.2f bytes each\n", (unsigned long long)lists.ids,
           (double)lists.bytes / (double)lists.ids);
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
        if (depth >= AND_JOIN && !join_event(&floor->context, &event, event.time, &floor->result)) continue;
        int32_t partition = hash_user_partition(event.user, world->partitions);
        if (depth < JOIN_PRESENT &&
            (graph_friends(floor->graph, partition, event.user, &floor->friends, &error) ||
             graph_roundings(floor->graph, partition, event.user, &floor->friends, &floor->roundings, &error)))
            bench_die("a friend list", error.text);
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
    floor->context.presence = presence_new(600000);
    for (int64_t i = 0; i < world->present; i++) {
        struct location event = world_location(world, world_present_index(i), -1);
        presence_apply(floor->context.presence, &event, event.time, NULL, NULL);
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

static const struct loader LOADERS[] = {{"sharing", .send = load_sharing}, {"joins", .send = load_joins},
                                        {"reports", .send = load_reports}, {"lists", .alone = load_lists},
                                        {"dump", .alone = dump_lists},     {"floor", .alone = measure_floor}};

int main(int argc, char **argv) {
    struct options o = {
        .world = {.seed = 1, .present = 1000000, .reporters = 200000, .partitions = 16, .routes = 64, .time = 1},
        .bootstrap = "127.0.0.1:9092",
        .prefix = "bench.",
        .path = ".",
        .rounds = 1,
    };
    const struct argument known[] = {ARGUMENT("--present", &o.world.present),
                                     ARGUMENT("--reporters", &o.world.reporters),
                                     ARGUMENT("--partitions", &o.world.partitions),
                                     ARGUMENT("--routes", &o.world.routes),
                                     ARGUMENT("--seed", &o.world.seed),
                                     ARGUMENT("--time", &o.world.time),
                                     ARGUMENT("--bootstrap", &o.bootstrap),
                                     ARGUMENT("--prefix", &o.prefix),
                                     ARGUMENT("--path", &o.path),
                                     ARGUMENT("--rounds", &o.rounds)};
    argc = arguments_read(argc, argv, known, ARRAY_SIZE(known));
    loader_run(LOADERS, ARRAY_SIZE(LOADERS), argc == 2 ? argv[1] : "", &o, o.bootstrap, o.prefix);
    return 0;
}
