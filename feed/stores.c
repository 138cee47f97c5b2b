#include "feed/stores.h"

#include <stdlib.h>

#include "base/mem.h"
#include "owner/checkpoints.h"

enum { FOLLOWS, POSTS, STORES };

static const char *const NAMES[STORES] = {"follows", "posts"};

struct stores {
    struct stores_options options;
    char *paths[STORES];
    struct checkpoints *checkpoints[STORES];
    struct relation_lists *relations;
    struct store *posts;
};

static int open_follows(void *context, struct error *error) {
    struct stores *stores = context;
    struct relation_lists_options lists = {
        .path = stores->paths[FOLLOWS],
        .partitions = stores->options.partitions,
        .memory_bytes = stores->options.memory_bytes / 4,
        .max_age_ms = stores->options.max_age_ms,
        .cache_bytes = stores->options.cache_bytes,
        .context = stores->options.context,
        .failed = stores->options.lists_failed,
    };
    return relation_lists_open(&lists, &stores->relations, error);
}

static int open_posts(void *context, struct error *error) {
    struct stores *stores = context;
    size_t memory = stores->options.memory_bytes;
    struct store_options store = {.memory_bytes = memory - memory / 4, .point_lookups = true};
    return store_open(stores->paths[POSTS], &store, &stores->posts, error);
}

static int checkpoint_follows(void *context, const char *path, struct error *error) {
    return adjacency_checkpoint(relation_lists_adjacency(((struct stores *)context)->relations), path, error);
}

static int checkpoint_posts(void *context, const char *path, struct error *error) {
    return store_checkpoint(((struct stores *)context)->posts, path, error);
}

static void all_opened(void *context, int code, const struct error *error) {
    struct stores *stores = context;
    stores->options.on_opened(stores->options.context, code, error);
}

static void follows_opened(void *context, int code, const struct error *error) {
    struct stores *stores = context;
    struct error reason = *error;
    if (!code) code = checkpoints_open(stores->checkpoints[POSTS], &reason);
    if (code <= 0) all_opened(stores, code, &reason);
}

int stores_open(struct stores *stores, struct error *error) {
    int code = checkpoints_open(stores->checkpoints[FOLLOWS], error);
    return code ? code : checkpoints_open(stores->checkpoints[POSTS], error);
}

struct stores *stores_new(const struct stores_options *options) {
    static int (*const OPEN[STORES])(void *, struct error *) = {open_follows, open_posts};
    static int (*const MAKE[STORES])(void *, const char *, struct error *) = {checkpoint_follows, checkpoint_posts};
    static void (*const OPENED[STORES])(void *, int, const struct error *) = {follows_opened, all_opened};
    static const char *const PREFIXES[STORES] = {"starling_feed_follows", "starling_feed_posts"};
    struct stores *stores = MEM_NEW(&(struct stores){.options = *options});
    bool any = *options->checkpoint_folder;
    for (size_t i = 0; i < STORES; i++) {
        char *folder = any ? mem_format("%s/%s", options->checkpoint_folder, NAMES[i]) : mem_string("");
        stores->paths[i] = mem_format("%s/%s", options->folder, NAMES[i]);
        stores->checkpoints[i] = checkpoints_new(&(struct checkpoints_options){
            .loop = options->loop,
            .log = options->log,
            .metrics = options->metrics,
            .prefix = PREFIXES[i],
            .folder = folder,
            .every_ms = options->checkpoint_every_ms,
            .keep = options->checkpoint_keep,
            .path = stores->paths[i],
            .max_age_ms = options->max_age_ms,
            .context = stores,
            .open = OPEN[i],
            .make = MAKE[i],
            .on_opened = OPENED[i],
        });
        free(folder);
    }
    return stores;
}

void stores_free(struct stores *stores) {
    if (!stores) return;
    for (size_t i = 0; i < STORES; i++) {
        checkpoints_free(stores->checkpoints[i]);
        free(stores->paths[i]);
    }
    store_close(stores->posts);
    relation_lists_close(stores->relations);
    free(stores);
}

void stores_stop(struct stores *stores) {
    for (size_t i = 0; i < STORES; i++) checkpoints_stop(stores->checkpoints[i]);
}

bool stores_busy(const struct stores *stores) {
    bool busy = false;
    for (size_t i = 0; i < STORES; i++) busy = busy || checkpoints_busy(stores->checkpoints[i]);
    return busy;
}

void stores_second(struct stores *stores, bool whole, int64_t now_ms) {
    for (size_t i = 0; i < STORES; i++) checkpoints_second(stores->checkpoints[i], whole, now_ms);
}

struct relation_lists *stores_relations(const struct stores *stores) {
    return stores->relations;
}

struct store *stores_posts(const struct stores *stores) {
    return stores->posts;
}
