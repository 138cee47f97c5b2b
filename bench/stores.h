/* Benches fill the stores of daemons that have not started yet. A failure ends the program. Header-only, for bench programs. */
#pragma once

#include "adjacency/private.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bench/machine.h"

enum { STORES_LISTS_A_BATCH = 500 };

/* Writes whole lists at once, without adjacency_add, which sorts what comes in no order. The store is the same. */
struct stores_lists {
    struct adjacency *lists;
    int32_t partitions;
    struct store_batch *batch;
    struct buffer value;
    uint64_t ids, bytes;
};

static inline void stores_attach(struct adjacency *lists, int32_t partitions) {
    struct error error;
    int64_t from;
    for (int32_t p = 0; p < partitions; p++)
        if (adjacency_attach(lists, p, clock_wall_ms(), &from, &error)) bench_die("attaching", error.text);
}

/* The partitions are attached. */
static inline struct stores_lists stores_lists_begin(struct adjacency *lists, int32_t partitions) {
    struct error error;
    for (int32_t p = 0; p < partitions; p++) { // all of nothing is read
        if (adjacency_apply(lists, p, 0, clock_wall_ms(), true, &error) ||
            adjacency_finish(lists, p, clock_wall_ms(), &error))
            bench_die("lists", error.text);
    }
    return (struct stores_lists){.lists = lists, .partitions = partitions, .batch = store_batch_new()};
}

static inline void stores_lists_write(struct stores_lists *to) {
    struct error error;
    if (store_write(to->lists->store, to->batch, false, &error)) bench_die("lists", error.text);
    store_batch_clear(to->batch);
}

static inline void stores_lists_put(struct stores_lists *to, int64_t user, uint8_t kind, int64_t *ids, size_t count) {
    struct adjacency_key key = adjacency_root_key(user, kind);
    buffer_clear(&to->value);
    adjacency_root_encode(&to->value, &(struct id_list){.items = ids, .count = count});
    store_batch_put(to->batch, to->lists->parts[hash_user_partition(user, to->partitions)].family, key.bytes, key.size,
                    to->value.data, to->value.size);
    to->ids += count;
    to->bytes += to->value.size;
    if (store_batch_count(to->batch) >= STORES_LISTS_A_BATCH) stores_lists_write(to);
}

static inline void stores_lists_end(struct stores_lists *to) {
    stores_lists_write(to);
    for (int32_t p = 0; p < to->partitions; p++)
        if (store_compact(to->lists->store, to->lists->parts[p].family)) bench_fail("lists cannot be merged");
    store_batch_free(to->batch);
    buffer_free(&to->value);
}

/* Merges the inboxes of a store of feed/inboxes.h. */
static inline void stores_merge_inboxes(struct store *store, int32_t partitions) {
    struct error error;
    for (int32_t p = 0; p < partitions; p++) {
        char *name = mem_format("inbox-%d", p);
        struct store_family *family = NULL;
        if (store_family(store, name, &family, &error)) bench_die(name, error.text);
        store_compact(store, family);
        free(name);
    }
}
