#include "feed/relations.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

enum { KINDS = RELATION_REQUESTING };

struct relation_lists {
    struct adjacency *adjacency;
    struct list_store *store;
    int32_t partitions;
    struct codec *codec;
    struct recent *rows; /* encoded lists (adjacency/id_list.h) as the store has them */
    struct buffer encoded;
    void *context;
    void (*failed)(void *context, int32_t partition, int code, const struct error *error);
};

/* ---- lists in memory ---- */

static struct recent_key row_of(int32_t partition, int64_t user, uint8_t kind) {
    return (struct recent_key){.reader = user, .partition = partition, .kind = kind};
}

static void list_changed(void *context, struct adjacency_list list, int64_t id, uint8_t before, uint8_t now) {
    struct relation_lists *lists = context;
    recent_drop(lists->rows, row_of(list.partition, list.owner, list.kind));
}

/* ---- writing ---- */

static struct adjacency_list list_of(int32_t partition, int64_t user, enum relation relation) {
    return (struct adjacency_list){
        .owner = user, .partition = partition, .kind = (uint8_t)(relation - RELATION_FOLLOWING)};
}

struct list_entry relation_entry(int32_t partition, const struct relation_half *half, int64_t time_ms, bool set) {
    return (struct list_entry){.list = list_of(partition, half->user, half->relation),
                               .id = half->other,
                               .stamp = time_ms,
                               .tag = set ? ADJACENCY_MEMBER : ADJACENCY_NONE};
}

static const char *read_record(void *context, const struct kafka_record *record, struct list_entry *entry,
                               struct error *error) {
    struct relation_lists *lists = context;
    struct relation_half half;
    struct follow follow;
    if (!relation_key_read(record->key, record->key_size, &half)) return "the key must be a relation of two users";
    if (hash_user_partition(half.user, lists->partitions) != record->partition)
        return "not in the partition of its user";
    if (record->value && event_decode_follow(lists->codec, record->value, record->value_size, &follow, error))
        return error->text;
    *entry = relation_entry(record->partition, &half, record->timestamp, record->value != NULL);
    return NULL;
}

static void lists_changed(void *context, int32_t partition) {
    recent_drop_all(((struct relation_lists *)context)->rows, partition);
}

static void applied(void *context, int32_t partition, size_t count, bool restoring) {
    if (restoring) lists_changed(context, partition); // adjacency does not tell what has changed
}

static void failed(void *context, int32_t partition, int code, const struct error *error) {
    const struct relation_lists *lists = context;
    lists->failed(lists->context, partition, code, error);
}

/* ---- opening ---- */

int relation_lists_open(const struct relation_lists_options *options, struct relation_lists **out,
                        struct error *error) {
    struct relation_lists *lists =
        MEM_NEW(&(struct relation_lists){.adjacency = NULL,
                                         .partitions = options->partitions,
                                         .codec = codec_new(),
                                         .rows = recent_new(options->cache_bytes, options->partitions),
                                         .context = options->context,
                                         .failed = options->failed});
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
    lists->store = list_store_new(&(struct list_store_options){.lists = lists->adjacency,
                                                               .partitions = options->partitions,
                                                               .context = lists,
                                                               .read = read_record,
                                                               .applied = applied,
                                                               .failed = failed,
                                                               .emptied = lists_changed});
    *out = lists;
    return 0;
}

void relation_lists_close(struct relation_lists *lists) {
    if (!lists) return;
    list_store_free(lists->store);
    adjacency_close(lists->adjacency);
    codec_free(lists->codec);
    recent_free(lists->rows);
    buffer_free(&lists->encoded);
    free(lists);
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

struct list_store *relation_lists_store(struct relation_lists *lists) {
    return lists->store;
}
