#include "feed/relations.h"

#include <stdlib.h>

#include "base/mem.h"

enum { KINDS = RELATION_MUTED };

struct relation_lists {
    struct adjacency *adjacency;
    int64_t *taken;      /* by partition: halves before are queued or applied */
    struct recent *rows; /* encoded lists (adjacency/id_list.h) as the store has them */
    struct buffer encoded;
};

/* ---- lists in memory ---- */

static struct recent_key row_of(int32_t partition, int64_t user, uint8_t kind) {
    return (struct recent_key){.reader = user, .partition = partition, .kind = kind};
}

static void list_changed(void *context, struct adjacency_list list, int64_t id, uint8_t before, uint8_t now) {
    struct relation_lists *lists = context;
    recent_drop(lists->rows, row_of(list.partition, list.owner, list.kind));
}

/* ---- opening ---- */

int relation_lists_open(const struct relation_lists_options *options, struct relation_lists **out,
                        struct error *error) {
    struct relation_lists *lists = mem_alloc(sizeof *lists);
    *lists = (struct relation_lists){.adjacency = NULL,
                                     .taken = mem_zero((size_t)options->partitions, sizeof *lists->taken),
                                     .rows = recent_new(options->cache_bytes, options->partitions)};
    struct adjacency_options adjacency = {
        .path = options->path,
        .name = "follows",
        .stamps = "follow-times",
        .partitions = options->partitions,
        .kinds = KINDS,
        .chunk = options->chunk,
        .max_age_ms = options->max_age_ms,
        .memory_bytes = options->memory_bytes,
        .context = lists,
        .on_change = list_changed,
    };
    int code = adjacency_open(&adjacency, &lists->adjacency, error);
    if (code) {
        relation_lists_close(lists);
        return code;
    }
    *out = lists;
    return 0;
}

void relation_lists_close(struct relation_lists *lists) {
    if (!lists) return;
    adjacency_close(lists->adjacency);
    free(lists->taken);
    recent_free(lists->rows);
    buffer_free(&lists->encoded);
    free(lists);
}

int relation_lists_attach(struct relation_lists *lists, int32_t partition, int64_t now_ms, int64_t *from,
                          struct error *error) {
    recent_drop_all(lists->rows, partition);
    int code = adjacency_attach(lists->adjacency, partition, now_ms, from, error);
    if (!code && !adjacency_queued(lists->adjacency, partition)) lists->taken[partition] = *from;
    return code;
}

void relation_lists_detach(struct relation_lists *lists, int32_t partition) {
    recent_drop_all(lists->rows, partition);
    adjacency_detach(lists->adjacency, partition);
}

int relation_lists_reset(struct relation_lists *lists, int32_t partition, struct error *error) {
    recent_drop_all(lists->rows, partition);
    int code = adjacency_rebuild(lists->adjacency, partition, error);
    if (!code) lists->taken[partition] = ADJACENCY_FROM_BEGINNING;
    return code;
}

/* ---- writing ---- */

static struct adjacency_list list_of(int32_t partition, int64_t user, enum relation relation) {
    return (struct adjacency_list){
        .owner = user, .partition = partition, .kind = (uint8_t)(relation - RELATION_FOLLOWING)};
}

void relation_lists_take(struct relation_lists *lists, int32_t partition, int64_t offset, int64_t time_ms,
                         const struct relation_half *half, bool set) {
    if (offset < lists->taken[partition]) return;
    lists->taken[partition] = offset + 1;
    adjacency_add(lists->adjacency, list_of(partition, half->user, half->relation), half->other,
                  set ? ADJACENCY_MEMBER : ADJACENCY_NONE, time_ms, offset);
}

int relation_lists_apply(struct relation_lists *lists, int32_t partition, int64_t next, int64_t now_ms, bool restoring,
                         struct error *error) {
    int64_t before = adjacency_next(lists->adjacency, partition);
    if (restoring) recent_drop_all(lists->rows, partition); // adjacency does not tell what has changed
    return adjacency_apply(lists->adjacency, partition, next > before ? next : before, now_ms, restoring, error);
}

int relation_lists_finish(struct relation_lists *lists, int32_t partition, int64_t now_ms, struct error *error) {
    return adjacency_finish(lists->adjacency, partition, now_ms, error);
}

int64_t relation_lists_next(const struct relation_lists *lists, int32_t partition) {
    return adjacency_next(lists->adjacency, partition);
}

/* ---- reading ---- */

int relation_lists_all(struct relation_lists *lists, int32_t partition, int64_t user, enum relation relation,
                       struct id_list *ids, struct error *error) {
    struct adjacency_list list = list_of(partition, user, relation);
    if (relation == RELATION_FOLLOWER) return adjacency_members(lists->adjacency, list, ids, error);
    struct recent_key key = row_of(partition, user, list.kind);
    size_t size;
    const uint8_t *row = recent_find(lists->rows, key, &size);
    ids->others = 0;
    if (row) return id_list_decode(ids, row, size);
    int code = adjacency_members(lists->adjacency, list, ids, error);
    if (code || ids->count >= recent_largest(lists->rows)) return code; // an id takes a byte at least
    buffer_clear(&lists->encoded);
    id_list_encode(&lists->encoded, ids->items, ids->count);
    recent_put(lists->rows, key, lists->encoded.data, lists->encoded.size);
    return 0;
}

struct recent_usage relation_lists_cached(const struct relation_lists *lists) {
    return recent_used(lists->rows);
}

int relation_lists_slice(struct relation_lists *lists, int32_t partition, int64_t user, enum relation relation,
                         int64_t after, struct id_list *ids, struct error *error) {
    return adjacency_slice(lists->adjacency, list_of(partition, user, relation), after, ids, error);
}

int relation_lists_count(struct relation_lists *lists, int32_t partition, int64_t user, enum relation relation,
                         size_t *count, struct error *error) {
    return adjacency_count(lists->adjacency, list_of(partition, user, relation), count, error);
}

int relation_lists_has(struct relation_lists *lists, int32_t partition, const struct relation_half *half, bool *has,
                       size_t *count, struct error *error) {
    struct adjacency_entry entry;
    int code = adjacency_find(lists->adjacency, list_of(partition, half->user, half->relation), half->other, &entry,
                              count, error);
    if (!code) *has = entry.tag == ADJACENCY_MEMBER;
    return code;
}

int relation_lists_since(struct relation_lists *lists, int32_t partition, const struct relation_half *half, bool *has,
                         int64_t *since, struct error *error) {
    struct adjacency_entry entry;
    int code = adjacency_find(lists->adjacency, list_of(partition, half->user, half->relation), half->other, &entry,
                              NULL, error);
    if (code) return code;
    *has = entry.tag == ADJACENCY_MEMBER;
    *since = *has && entry.stamped ? entry.stamp : 0;
    return 0;
}

struct adjacency *relation_lists_adjacency(struct relation_lists *lists) {
    return lists->adjacency;
}
