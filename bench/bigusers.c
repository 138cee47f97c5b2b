/* How long one report holds up all others: from the friend list on disk to the outbox's buffers, for users with no, 400 and
 * 5,000 friends, all near and each on one of 64 routes. The router's work for one report, without Kafka. */
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "base/mem.h"
#include "bench/arguments.h"
#include "router/graph_private.h"
#include "router/join.h"
#include "router/telling.h"

enum { ROUTES = 64, JOINS = 20000, USERS = 20, NOW = 1000000 };

struct world {
    struct graph *graph;
    struct presence *presence;
    struct deliver *outbox;
    struct epochs *epochs;
    struct join_result result;
    struct id_list list;
    int64_t time;
};

static int discard(void *context, int32_t route, const void *bytes, size_t size, uint64_t epoch) {
    *(size_t *)context += size;
    return 0;
}

static void hear(void *context, const struct graph_change *change) {}

static void must(int code, const struct error *error) {
    if (code) bench_fail(error->text);
}

static struct location report(int64_t user, int64_t time) {
    uint64_t hash = hash_u64((uint64_t)user + (uint64_t)time);
    return (struct location){.user = user,
                             .lat = 399000000 + (int32_t)(hash % 100000),
                             .lng = 1164000000 + (int32_t)(hash >> 32) % 100000,
                             .time = time,
                             .kind = LOCATION_REPORT,
                             .session = user + 1,
                             .route = (int32_t)(user % ROUTES),
                             .opted = 1,
                             .accuracy = -1};
}

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Users base..base+USERS-1 with the first `friends` of all ids below base as their friends. */
static void befriend(struct world *world, int64_t base, int64_t friends) {
    struct friendship half = {.state = FRIENDSHIP_FRIENDS, .since = 1};
    struct error error;
    int64_t offset = base * 5000; // rising from one group of users to the next
    for (int64_t user = base; user < base + USERS; user++) {
        for (int64_t friend = 0; friend < friends; friend ++) graph_add(world->graph, 0, offset++, user, friend, &half);
    }
    must(adjacency_apply(graph_lists(world->graph), 0, offset, NOW, false, &error), &error);
}

static void measure(struct world *world, int64_t base, size_t friends, FILE *json, bool first) {
    struct join_context context = {
        .presence = world->presence, .inactive_ms = 600000, .radius_m = 8046.72, .warm = true, .digests = true};
    const struct rounding_list nobody = {.count = 0};
    double *took = mem_alloc(JOINS * sizeof *took);
    struct error error;
    for (size_t i = 0; i < JOINS; i++) {
        struct location event = report(base + (int64_t)(i % USERS), ++world->time);
        context.now = world->time;
        double begun = now_us();
        if (join_event(&context, &event, event.time, &world->result)) {
            must(graph_friends(world->graph, 0, event.user, &world->list, &error), &error);
            join_reserve(&world->result, world->list.count);
            join_friends(&context, world->list.items, world->list.count, &nobody, &world->result);
        }
        telling_result(world->outbox, &world->result, event.time, 0);
        took[i] = now_us() - begun;
        if (world->list.count != friends) must(-1, &(struct error){.text = "a list is not what it should be"});
    }
    bench_sort(took, JOINS);
    printf("%8zu %10.1f %10.1f %10.1f\n", friends, took[JOINS / 2], took[JOINS * 99 / 100], took[JOINS - 1]);
    if (json)
        fprintf(json, "%s{\"friends\":%zu,\"p50_us\":%.2f,\"p99_us\":%.2f,\"max_us\":%.2f}", first ? "" : ",", friends,
                took[JOINS / 2], took[JOINS * 99 / 100], took[JOINS - 1]);
    free(took);
}

int main(int argc, char **argv) {
    static const int64_t FRIENDS[] = {0, 400, 5000};
    FILE *json = NULL;
    const struct argument known[] = {ARGUMENT("--json", &json)};
    if (arguments_read(argc, argv, known, ARRAY_SIZE(known)) != 1) bench_fail("it knows --json FILE alone");
    char *folder = bench_folder();
    size_t sent = 0;
    struct world world = {.presence = presence_new(600000), .time = NOW};
    struct error error;
    int64_t from;
    struct graph_options graph = {
        .path = folder, .partitions = 1, .cap = 5000, .max_age_ms = INT64_MAX / 4, .on_change = hear};
    world.epochs = epochs_new();
    struct deliver_options outbox = {.destinations = ROUTES,
                                     .flush_bytes = 65536,
                                     .flush_us = 5000,
                                     .epochs = world.epochs,
                                     .context = &sent,
                                     .send = discard};
    must(graph_open(&graph, &world.graph, &error), &error);
    must(adjacency_attach(graph_lists(world.graph), 0, NOW, &from, &error), &error);
    must(adjacency_finish(graph_lists(world.graph), 0, NOW, &error), &error);
    world.outbox = deliver_new(&outbox);
    join_result_init(&world.result);
    for (int64_t user = 0; user < 5000 + 3 * USERS; user++) {
        struct location event = report(user, NOW);
        event.kind = LOCATION_JOIN;
        presence_apply(world.presence, &event, event.time, NULL, NULL);
    }
    if (json) fputc('{', json);
    bench_print_machine(stdout, json, "bigusers");
    printf("%d joins of %d users each, all friends near, %d routes; friend lists from RocksDB; us\n\n", JOINS, USERS,
           ROUTES);
    printf("%8s %10s %10s %10s\n", "friends", "p50", "p99", "longest");
    if (json) fputs("\"rows\":[", json);
    for (int i = 0; i < 3; i++) {
        if (FRIENDS[i]) befriend(&world, 5000 + i * USERS, FRIENDS[i]);
        measure(&world, 5000 + i * USERS, (size_t)FRIENDS[i], json, !i);
    }
    if (json) {
        fputs("]}\n", json);
        fclose(json);
    }
    join_result_free(&world.result);
    id_list_free(&world.list);
    deliver_free(world.outbox);
    epochs_free(world.epochs);
    presence_free(world.presence);
    graph_close(world.graph);
    bench_folder_remove(folder);
    return 0;
}
