#include "feed/relations.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

enum { KINDS = RELATION_MUTED, BUILD_LOT = 200000 /* halves that are queued before they are sorted, to build lists */ };

struct lists_part {
    int64_t taken; /* halves before are queued or applied */
    bool live;
    bool touched; /* records were taken since the last write */
};

struct relation_lists {
    struct adjacency *adjacency;
    int32_t partitions;
    struct lists_part *parts;
    struct codec *codec;
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
                                     .partitions = options->partitions,
                                     .parts = mem_zero((size_t)options->partitions, sizeof *lists->parts),
                                     .codec = codec_new(),
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
    free(lists->parts);
    codec_free(lists->codec);
    recent_free(lists->rows);
    buffer_free(&lists->encoded);
    free(lists);
}

int relation_lists_attach(struct relation_lists *lists, int32_t partition, int64_t now_ms, int64_t *from,
                          struct error *error) {
    recent_drop_all(lists->rows, partition);
    int code = adjacency_attach(lists->adjacency, partition, now_ms, from, error);
    if (!code && !adjacency_queued(lists->adjacency, partition)) lists->parts[partition].taken = *from;
    return code;
}

void relation_lists_detach(void *store, int32_t partition) {
    struct relation_lists *lists = store;
    recent_drop_all(lists->rows, partition);
    adjacency_detach(lists->adjacency, partition);
}

int relation_lists_reset(struct relation_lists *lists, int32_t partition, struct error *error) {
    recent_drop_all(lists->rows, partition);
    int code = adjacency_rebuild(lists->adjacency, partition, error);
    if (!code) lists->parts[partition].taken = ADJACENCY_FROM_BEGINNING;
    return code;
}

/* ---- writing ---- */

static struct adjacency_list list_of(int32_t partition, int64_t user, enum relation relation) {
    return (struct adjacency_list){
        .owner = user, .partition = partition, .kind = (uint8_t)(relation - RELATION_FOLLOWING)};
}

void relation_lists_take(struct relation_lists *lists, int32_t partition, int64_t offset, int64_t time_ms,
                         const struct relation_half *half, bool set) {
    if (offset < lists->parts[partition].taken) return;
    lists->parts[partition].taken = offset + 1;
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

/* ---- the kind ---- */

static int open_part(void *store, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error) {
    struct relation_lists *lists = store;
    int64_t from;
    lists->parts[partition].live = lists->parts[partition].touched = false;
    return relation_lists_attach(lists, partition, now_ms, &from, error);
}

static int apply_queued(struct relation_lists *lists, int32_t partition, struct error *error) {
    const struct lists_part *part = &lists->parts[partition];
    return relation_lists_apply(lists, partition, part->taken, clock_wall_ms(), !part->live, error);
}

static int set_live(void *store, int32_t partition, bool live, struct error *error) {
    struct relation_lists *lists = store;
    lists->parts[partition].live = live;
    return live ? relation_lists_finish(lists, partition, clock_wall_ms(), error) : 0;
}

static const char *complaint(struct relation_lists *lists, const struct kafka_record *record,
                             struct relation_half *half, struct error *error) {
    struct follow follow;
    if (!relation_key_read(record->key, record->key_size, half)) return "the key must be a relation of two users";
    if (hash_user_partition(half->user, lists->partitions) != record->partition)
        return "not in the partition of its user";
    if (record->value && event_decode_follow(lists->codec, record->value, record->value_size, &follow, error))
        return error->text;
    return NULL;
}

static int take(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                struct error *error) {
    struct relation_lists *lists = store;
    struct lists_part *part = &lists->parts[record->partition];
    struct relation_half half;
    const char *why = complaint(lists, record, &half, error);
    if (!why)
        relation_lists_take(lists, record->partition, record->offset, record->timestamp, &half, record->value != NULL);
    else
        *reason = why;
    if (record->offset >= part->taken) part->taken = record->offset + 1;
    part->touched = true;
    return 0;
}

static int64_t next(const void *store, int32_t partition, size_t topic) {
    return relation_lists_next(store, partition);
}

/* Lists that are being built take halves in large lots. */
static bool is_due(const struct relation_lists *lists, int32_t partition) {
    size_t queued = adjacency_queued(lists->adjacency, partition);
    bool readable = !adjacency_building(lists->adjacency, partition) && relation_lists_next(lists, partition) >= 0;
    return queued && (queued >= BUILD_LOT || lists->parts[partition].live || readable);
}

static int write_due(void *store, struct error *error) {
    struct relation_lists *lists = store;
    int code = 0;
    for (int32_t p = 0; !code && p < lists->partitions; p++) {
        bool due = lists->parts[p].touched && is_due(lists, p);
        lists->parts[p].touched = false;
        if (due) code = apply_queued(lists, p, error);
    }
    return code;
}

static int reset(void *store, int32_t partition, int64_t now_ms, struct error *error) {
    return relation_lists_reset(store, partition, error);
}

static int touch(void *store, int32_t partition, int64_t now_ms, struct error *error) {
    return adjacency_touch(((struct relation_lists *)store)->adjacency, partition, now_ms, error);
}

static int64_t unbuilt(const void *store, int32_t partition) {
    const struct adjacency *adjacency = ((const struct relation_lists *)store)->adjacency;
    return adjacency_building(adjacency, partition) || adjacency_queued(adjacency, partition);
}

static int build_begin(void *store, int32_t partition, int64_t now_ms, void **build, struct error *error) {
    struct relation_lists *lists = store;
    int code = apply_queued(lists, partition, error);
    if (!code) *build = adjacency_finish_begin(lists->adjacency, partition, now_ms);
    return code;
}

static int build_run(void *build, struct error *error) { return adjacency_finish_run(build, error); }

static int build_end(void *store, int32_t partition, void *build, int code, int64_t now_ms, struct error *error) {
    int failed = adjacency_finish_end(build, code, error);
    return failed ? failed : apply_queued(store, partition, error); // what has come in the meantime
}

const struct state_kind RELATIONS_KIND = {
    .open = open_part,
    .close = relation_lists_detach,
    .live = set_live,
    .take = take,
    .next = next,
    .write = write_due,
    .reset = reset,
    .touch = touch,
    .unbuilt = unbuilt,
    .build_begin = build_begin,
    .build_run = build_run,
    .build_end = build_end,
};
