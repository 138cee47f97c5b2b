#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "router/graph_private.h"

enum {
    RUN_RECORDS = 131072,   /* of a run at most: sorting it takes some 10 ms of the loop's thread */
    QUEUE_RECORDS = 262144, /* of all families that wait to be sorted: the more, the longer the runs */
};

/* ---- the folder ---- */

int graph_build_clear(struct graph *graph, struct error *error) {
    const char *folder = graph->build_folder;
    int code = mkdir(folder, 0777) && errno != EEXIST ? error_set(error, -errno, "%s: %s", folder, strerror(errno)) : 0;
    DIR *dir = code ? NULL : opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        char *path = mem_format("%s/%s", folder, entry->d_name);
        if (unlink(path)) code = error_set(error, -errno, "%s: %s", path, strerror(errno));
        free(path);
    }
    if (dir) closedir(dir);
    return code;
}

/* ---- taking records ---- */

/* Runs, and as much again for sorting and merging, are taken out of the cache while there is something to build. */
static void reserve(struct graph *graph, int more) {
    graph->builds += more;
    store_reserve(graph->store, graph->builds ? graph->options.memory_bytes / 4 : 0);
}

void graph_build_new(struct graph *graph, int32_t partition) {
    struct graph_part *part = &graph->parts[partition];
    reserve(graph, 1);
    part->build = mem_alloc(sizeof *part->build);
    *part->build = (struct graph_build){
        .graph = graph,
        .family = part->family,
        .partition = partition,
        .runs = graph_runs_new(graph->build_folder),
        .hold = INT64_MAX,
    };
}

void graph_build_free(struct graph *graph, int32_t partition) {
    struct graph_part *part = &graph->parts[partition];
    struct graph_build *build = part->build;
    if (!build) return;
    reserve(graph, -1);
    graph_runs_free(build->runs);
    store_file_free(build->lists);
    store_file_free(build->sinces);
    friend_list_free(&build->list);
    buffer_free(&build->bytes);
    free(build->excess.items);
    free(build);
    part->build = NULL;
}

/* What was applied of the queue becomes a run. */
static void cut(struct graph_part *part) {
    size_t taken = part->build->cut;
    graph_runs_add(part->build->runs, part->updates, taken);
    part->count -= taken;
    part->build->cut = 0;
    if (part->count) {
        memmove(part->updates, part->updates + taken, part->count * sizeof *part->updates);
        return;
    }
    free(part->updates); // other families' turn
    part->updates = NULL;
    part->capacity = 0;
}

static size_t waiting(const struct graph_part *part) {
    return part->build && !part->build->running ? part->build->cut : 0;
}

static size_t in_memory(const struct graph_part *part) {
    return part->build && !part->build->running ? graph_runs_bytes(part->build->runs) : 0;
}

/* The family with the most of it, and how much all have. */
static struct graph_part *most(struct graph *graph, size_t (*measure)(const struct graph_part *), size_t *total) {
    struct graph_part *largest = graph->parts;
    *total = 0;
    for (int32_t p = 0; p < graph->options.partitions; p++) {
        *total += measure(&graph->parts[p]);
        if (measure(&graph->parts[p]) > measure(largest)) largest = &graph->parts[p];
    }
    return largest;
}

int graph_build_take(struct graph *graph, int32_t partition, int64_t next, struct error *error) {
    struct graph_part *part = &graph->parts[partition], *largest;
    size_t total;
    part->build->cut = part->count;
    part->next = next;
    if (part->count >= RUN_RECORDS) cut(part);
    while (largest = most(graph, waiting, &total), total > QUEUE_RECORDS) cut(largest);
    int code = 0;
    while (!code && (largest = most(graph, in_memory, &total), total > graph->options.build_bytes))
        code = graph_runs_spill(largest->build->runs, error);
    return code;
}

bool graph_building(const struct graph *graph, int32_t partition) {
    const struct graph_build *build = graph->parts[partition].build;
    return build && (build->running || graph->parts[partition].next >= 0);
}

bool graph_finishing(const struct graph *graph, int32_t partition) {
    return graph->parts[partition].build && graph->parts[partition].build->running;
}

/* ---- finishing ---- */

struct graph_build *graph_finish_begin(struct graph *graph, int32_t partition, int64_t now_ms) {
    struct graph_part *part = &graph->parts[partition];
    struct graph_build *build = part->build;
    if (!build || build->running) return NULL;
    if (part->next < 0) { // nothing was read: there is nothing to build
        graph_build_free(graph, partition);
        return NULL;
    }
    if (build->cut) cut(part);
    char *lists = mem_format("%s/%d-lists", graph->build_folder, partition);
    char *sinces = mem_format("%s/%d-sinces", graph->build_folder, partition);
    build->running = true;
    build->next = part->next;
    build->now_ms = now_ms;
    build->lists = store_file_new(graph->store, lists);
    build->sinces = store_file_new(graph->store, sinces);
    free(lists);
    free(sinces);
    return build;
}

static int write_list(struct graph_build *build, int64_t user, struct error *error) {
    uint8_t key[GRAPH_LIST_KEY];
    if (!build->list.count && !build->list.others) return 0;
    graph_list_key(key, user);
    buffer_clear(&build->bytes);
    graph_list_encode(&build->bytes, &build->list);
    return store_file_put(build->lists, key, sizeof key, build->bytes.data, build->bytes.size, error);
}

static int write_half(struct graph_build *build, const struct graph_update *update, struct error *error) {
    uint8_t key[GRAPH_SINCE_KEY], value[GRAPH_HALF_SIZE];
    struct friendship half = graph_update_half(update);
    if (graph_update_made(update)) {
        if (build->now_ms - update->since >= GRAPH_DAY_MS) return 0;
        graph_since_key(key, build->now_ms / GRAPH_DAY_MS, update->user, update->other);
        bytes_put_be64(value, (uint64_t)update->since);
        return store_file_put(build->sinces, key, GRAPH_SINCE_KEY, value, 8, error);
    }
    if (friendship_empty(&half)) return 0;
    graph_half_key(key, update->user, update->other);
    graph_half_encode(value, update);
    return store_file_put(build->lists, key, GRAPH_HALF_KEY, value, sizeof value, error);
}

/* A user's last records: the list, then the halves that are none, as their keys sort. */
static int write_user(void *context, const struct graph_update *updates, size_t count, struct error *error) {
    struct graph_build *build = context;
    size_t cap = build->graph->options.cap;
    build->list.count = build->list.others = 0;
    friend_list_reserve(&build->list, count);
    for (size_t i = 0; i < count; i++) {
        struct friendship half = graph_update_half(&updates[i]);
        if (friendship_made(&half))
            build->list.items[build->list.count++] = updates[i].other;
        else
            build->list.others += !friendship_empty(&half);
    }
    int code = write_list(build, updates->user, error);
    for (size_t i = 0; !code && i < count; i++) code = write_half(build, &updates[i], error);
    if (build->list.count > cap)
        graph_note_excess(&build->excess, updates, count, build->list.count - cap, &build->hold);
    return code;
}

int graph_finish_run(struct graph_build *build, struct error *error) {
    const uint8_t key = GRAPH_META_KEY; // behind all others, and all files are taken in together
    uint8_t value[GRAPH_META_SIZE];
    int code = graph_runs_merge(build->runs, write_user, build, error);
    if (code) return code;
    graph_meta_encode(build->graph, value, build->next < build->hold ? build->next : build->hold, build->now_ms);
    code = store_file_put(build->sinces, &key, 1, value, sizeof value, error);
    struct store_file *files[] = {build->lists, build->sinces};
    return code ? code : store_ingest(build->graph->store, build->family, files, 2, error);
}

int graph_finish_end(struct graph_build *build, int code, struct error *error) {
    struct graph *graph = build->graph;
    int32_t partition = build->partition;
    struct graph_part *part = &graph->parts[partition];
    bool abandoned = build->abandoned, discarded = build->discarded;
    build->running = false;
    if (!code && !abandoned && !discarded) {
        if (build->hold < part->hold) part->hold = build->hold;
        graph_tell_excess(graph, partition, &build->excess);
    }
    graph_build_free(graph, partition);
    if (!code && discarded) code = graph_family_empty(graph, partition, error);
    if (code || abandoned) graph_detach(graph, partition);
    return code;
}

int graph_finish(struct graph *graph, int32_t partition, int64_t now_ms, struct error *error) {
    if (graph_finishing(graph, partition))
        return error_set(error, -EAGAIN, "the friend lists of partition %d are being restored", partition);
    struct graph_build *build = graph_finish_begin(graph, partition, now_ms);
    return build ? graph_finish_end(build, graph_finish_run(build, error), error) : 0;
}
