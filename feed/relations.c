#include "feed/relations.h"

#include <stdlib.h>

#include "base/mem.h"

enum { KINDS = RELATION_MUTED };

struct relation_lists {
    struct adjacency *adjacency;
    int64_t *taken; /* by partition: halves before are queued or applied */
};

/* ---- opening ---- */

int relation_lists_open(const struct relation_lists_options *options, struct relation_lists **out,
                        struct error *error) {
    struct relation_lists *lists = mem_alloc(sizeof *lists);
    *lists = (struct relation_lists){.adjacency = NULL,
                                     .taken = mem_zero((size_t)options->partitions, sizeof *lists->taken)};
    struct adjacency_options adjacency = {
        .path = options->path,
        .name = "follows",
        .stamps = "follow-times",
        .partitions = options->partitions,
        .kinds = KINDS,
        .chunk = options->chunk,
        .max_age_ms = options->max_age_ms,
        .memory_bytes = options->memory_bytes,
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
    free(lists);
}

int relation_lists_attach(struct relation_lists *lists, int32_t partition, int64_t now_ms, int64_t *from,
                          struct error *error) {
    int code = adjacency_attach(lists->adjacency, partition, now_ms, from, error);
    if (!code && !adjacency_queued(lists->adjacency, partition)) lists->taken[partition] = *from;
    return code;
}

void relation_lists_detach(struct relation_lists *lists, int32_t partition) {
    adjacency_detach(lists->adjacency, partition);
}

int relation_lists_reset(struct relation_lists *lists, int32_t partition, struct error *error) {
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
    return adjacency_members(lists->adjacency, list_of(partition, user, relation), ids, error);
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
