/* The steps of a feed's relation lists by hand, as its tests and benches take them one by one. */
#pragma once

#include "feed/relations.h"

/* *from: where to go on reading; ADJACENCY_FROM_BEGINNING: at the beginning. */
static inline int relation_lists_attach(struct relation_lists *lists, int32_t partition, int64_t now_ms, int64_t *from,
                                        struct error *error) {
    int code = list_store_open(relation_lists_store(lists), partition, now_ms, 0, error);
    int64_t next = adjacency_next(relation_lists_adjacency(lists), partition);
    *from = next < 0 ? ADJACENCY_FROM_BEGINNING : next;
    return code;
}

static inline void relation_lists_take(struct relation_lists *lists, int32_t partition, int64_t offset, int64_t time_ms,
                                       const struct relation_half *half, bool set) {
    struct list_entry entry = relation_entry(partition, half, time_ms, set);
    list_store_add(relation_lists_store(lists), offset, &entry);
}

static inline int relation_lists_apply(struct relation_lists *lists, int32_t partition, int64_t next, int64_t now_ms,
                                       bool restoring, struct error *error) {
    return list_store_apply(relation_lists_store(lists), partition, next, now_ms, restoring, error);
}

static inline int relation_lists_finish(struct relation_lists *lists, int32_t partition, int64_t now_ms,
                                        struct error *error) {
    return adjacency_finish(relation_lists_adjacency(lists), partition, now_ms, error);
}

static inline void relation_lists_detach(struct relation_lists *lists, int32_t partition) {
    list_store_close(relation_lists_store(lists), partition);
}

static inline int relation_lists_reset(struct relation_lists *lists, int32_t partition, struct error *error) {
    return list_store_reset(relation_lists_store(lists), partition, 0, error);
}

static inline int64_t relation_lists_next(struct relation_lists *lists, int32_t partition) {
    return adjacency_next(relation_lists_adjacency(lists), partition);
}
