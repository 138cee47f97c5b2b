#include "router/graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "router/graph_private.h"

enum { NAME_SIZE = 32, MEMORY_DEFAULT = 96 << 20 };

void graph_list_key(uint8_t key[GRAPH_LIST_KEY], int64_t user) { bytes_put_be64(key, (uint64_t)user); }

void graph_half_key(uint8_t key[GRAPH_HALF_KEY], int64_t user, int64_t other) {
    bytes_put_be64(key, (uint64_t)user);
    bytes_put_be64(key + 8, (uint64_t)other);
}

void graph_since_key(uint8_t key[GRAPH_SINCE_KEY], int64_t day, int64_t user, int64_t other) {
    key[0] = GRAPH_SINCE_PREFIX;
    bytes_put_be32(key + 1, (uint32_t)day);
    bytes_put_be64(key + 5, (uint64_t)user);
    bytes_put_be64(key + 13, (uint64_t)other);
}

void graph_late_key(uint8_t key[GRAPH_LATE_KEY], int32_t partition, int64_t day, int64_t user, int64_t other) {
    bytes_put_be32(key, (uint32_t)partition);
    bytes_put_be32(key + 4, (uint32_t)day);
    bytes_put_be64(key + 8, (uint64_t)user);
    bytes_put_be64(key + 16, (uint64_t)other);
}

void graph_list_encode(struct buffer *out, const struct friend_list *list) {
    uint8_t *begin = buffer_reserve(out, VARINT_MAX);
    buffer_commit(out, (size_t)(varint_put(begin, list->others) - begin));
    friend_list_encode(out, list->items, list->count);
}

/* Behind the number of other halves; NULL: damaged. */
static const uint8_t *list_begin(const struct store_pin *pin, size_t *others, size_t *size) {
    uint64_t count;
    const uint8_t *at = varint_get(pin->data, pin->data + pin->size, &count);
    if (!at) return NULL;
    *others = (size_t)count;
    *size = pin->size - (size_t)(at - pin->data);
    return at;
}

void graph_half_encode(uint8_t value[GRAPH_HALF_SIZE], const struct graph_update *update) {
    value[0] = (uint8_t)(update->state | update->blocked_by_me << 2 | update->blocked_by_them << 3);
    bytes_put_be64(value + 1, (uint64_t)update->since);
}

void graph_meta_encode(const struct graph *graph, uint8_t value[GRAPH_META_SIZE], int64_t next, int64_t now_ms) {
    value[0] = GRAPH_META_VERSION;
    bytes_put_be32(value + 1, (uint32_t)graph->options.partitions);
    bytes_put_be64(value + 5, (uint64_t)next);
    bytes_put_be64(value + 13, (uint64_t)now_ms);
}

void graph_put_meta(struct graph *graph, struct graph_part *part, int64_t now_ms) {
    const uint8_t key = GRAPH_META_KEY;
    uint8_t value[GRAPH_META_SIZE];
    graph_meta_encode(graph, value, part->next < part->hold ? part->next : part->hold, now_ms);
    store_batch_put(graph->batch, part->family, &key, 1, value, sizeof value);
}

int graph_open(const struct graph_options *options, struct graph **out, struct error *error) {
    struct graph *graph = mem_alloc(sizeof *graph);
    *graph = (struct graph){
        .options = *options,
        .build_folder = mem_format("%s.build", options->path),
        .parts = mem_zero((size_t)options->partitions, sizeof *graph->parts),
        .batch = store_batch_new(),
    };
    graph->options.path = NULL; // the caller's
    if (!options->memory_bytes) graph->options.memory_bytes = MEMORY_DEFAULT;
    if (!options->build_bytes) graph->options.build_bytes = graph->options.memory_bytes / 8;
    for (int32_t p = 0; p < options->partitions; p++) graph->parts[p].next = -1, graph->parts[p].hold = INT64_MAX;
    struct store_options store = {.memory_bytes = graph->options.memory_bytes, .point_lookups = true};
    int code = store_open(options->path, &store, &graph->store, error);
    if (!code) code = store_family(graph->store, STORE_LATE "since", &graph->sinces, error);
    if (!code) code = graph_build_clear(graph, error); // after the store's lock: another process may be building there
    if (code) {
        graph_close(graph);
        return code;
    }
    *out = graph;
    return 0;
}

void graph_close(struct graph *graph) {
    if (!graph) return;
    for (int32_t p = 0; p < graph->options.partitions; p++) {
        graph_build_free(graph, p);
        free(graph->parts[p].updates);
    }
    free(graph->parts);
    free(graph->build_folder);
    store_batch_free(graph->batch);
    friend_list_free(&graph->list);
    friend_list_free(&graph->merged);
    for (size_t i = 0; i < GRAPH_MANY; i++) friend_list_free(&graph->lists[i]);
    buffer_free(&graph->bytes);
    free(graph->changes);
    free(graph->excess.items);
    store_close(graph->store);
    free(graph);
}

/* ---- families ---- */

static int family_open(struct graph *graph, int32_t partition, struct error *error) {
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "friends-%d", partition);
    return store_family(graph->store, name, &graph->parts[partition].family, error);
}

/* 1: the family is of use, and reflects everything before *next; 0: it is not. */
static int family_usable(struct graph *graph, const struct graph_part *part, int64_t now_ms, int64_t *next,
                         struct error *error) {
    const uint8_t key = GRAPH_META_KEY;
    int found = store_get(graph->store, part->family, &key, 1, (buffer_clear(&graph->bytes), &graph->bytes), error);
    if (found <= 0) return found;
    const uint8_t *value = graph->bytes.data;
    if (graph->bytes.size != GRAPH_META_SIZE || value[0] != GRAPH_META_VERSION) return 0;
    if (bytes_get_be32(value + 1) != (uint32_t)graph->options.partitions) return 0; // other users live here now
    *next = (int64_t)bytes_get_be64(value + 5);
    return now_ms - (int64_t)bytes_get_be64(value + 13) <= graph->options.max_age_ms;
}

static int drop_sinces(struct graph *graph, int32_t partition, struct error *error) {
    uint8_t from[GRAPH_LATE_KEY], to[GRAPH_LATE_KEY];
    store_batch_clear(graph->batch);
    graph_late_key(from, partition, 0, 0, 0);
    graph_late_key(to, partition + 1, 0, 0, 0);
    store_batch_delete_range(graph->batch, graph->sinces, from, sizeof from, to, sizeof to);
    return store_write(graph->store, graph->batch, false, error);
}

int graph_family_empty(struct graph *graph, int32_t partition, struct error *error) {
    struct graph_part *part = &graph->parts[partition];
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "friends-%d", partition);
    part->family = NULL;
    int code = store_family_drop(graph->store, name, error);
    if (!code) code = drop_sinces(graph, partition, error);
    if (!code) code = family_open(graph, partition, error);
    if (!code) graph_build_new(graph, partition);
    return code;
}

int graph_rebuild(struct graph *graph, int32_t partition, struct error *error) {
    struct graph_part *part = &graph->parts[partition];
    part->next = -1;
    part->hold = INT64_MAX;
    part->count = 0;
    if (graph_finishing(graph, partition)) {
        part->build->discarded = true; // a worker has the family in its hands
        return 0;
    }
    graph_build_free(graph, partition);
    return graph_family_empty(graph, partition, error);
}

int graph_attach(struct graph *graph, int32_t partition, int64_t now_ms, int64_t *from, struct error *error) {
    struct graph_part *part = &graph->parts[partition];
    if (!part->family) {
        int code = family_open(graph, partition, error);
        if (code) return code;
        int64_t next = -1;
        int usable = family_usable(graph, part, now_ms, &next, error);
        if (usable == 0) code = graph_family_empty(graph, partition, error);
        if (usable < 0 || code) {
            part->family = NULL;
            return usable < 0 ? usable : code;
        }
        if (usable) part->next = next;
    }
    if (part->build) part->build->abandoned = false;
    *from = part->next >= 0 ? part->next : GRAPH_FROM_BEGINNING;
    return 0;
}

void graph_detach(struct graph *graph, int32_t partition) {
    struct graph_part *part = &graph->parts[partition];
    if (graph_finishing(graph, partition)) {
        // The worker goes on, as nothing else can be done with the family; who comes back meanwhile goes on after it.
        part->build->abandoned = true;
        part->count = 0;
        if (!part->build->discarded) part->next = part->build->next;
        return;
    }
    graph_build_free(graph, partition);
    free(part->updates);
    *part = (struct graph_part){.family = NULL, .next = -1, .hold = INT64_MAX};
}

void graph_release(struct graph *graph, int32_t partition, int64_t hold) { graph->parts[partition].hold = hold; }

int64_t graph_next(const struct graph *graph, int32_t partition) { return graph->parts[partition].next; }

/* Today's and yesterday's stay. Once a day, as each range dropped is one more that look-ups must heed. */
static int prune(struct graph *graph, int32_t partition, int64_t today, struct error *error) {
    struct graph_part *part = &graph->parts[partition];
    uint8_t from[GRAPH_SINCE_KEY], to[GRAPH_SINCE_KEY], from_late[GRAPH_LATE_KEY], to_late[GRAPH_LATE_KEY];
    if (part->pruned == today) return 0;
    part->pruned = today;
    graph_since_key(from, 0, 0, 0);
    graph_since_key(to, today - 1, 0, 0);
    graph_late_key(from_late, partition, 0, 0, 0);
    graph_late_key(to_late, partition, today - 1, 0, 0);
    store_batch_clear(graph->batch);
    store_batch_delete_range(graph->batch, part->family, from, sizeof from, to, sizeof to);
    store_batch_delete_range(graph->batch, graph->sinces, from_late, sizeof from_late, to_late, sizeof to_late);
    int code = store_write(graph->store, graph->batch, false, error);
    // After an import they are most of what the disk holds, and of every checkpoint.
    if (!code) code = store_reclaim(graph->store, part->family, from, sizeof from, to, sizeof to, error);
    return code ? code
                : store_reclaim(graph->store, graph->sinces, from_late, sizeof from_late, to_late, sizeof to_late,
                                error);
}

int graph_touch(struct graph *graph, int32_t partition, int64_t now_ms, struct error *error) {
    struct graph_part *part = &graph->parts[partition];
    if (!part->family || part->build || part->next < 0) return 0;
    int code = prune(graph, partition, now_ms / GRAPH_DAY_MS, error);
    if (code) return code;
    store_batch_clear(graph->batch);
    graph_put_meta(graph, part, now_ms);
    return store_write(graph->store, graph->batch, false, error);
}

/* ---- reading ---- */

static int detached(int32_t partition, struct error *error) {
    return error_set(error, -ESTALE, "the friend lists of partition %d are not open", partition);
}

/* Before a family is read: what is being built is not there yet. */
static int ready(struct graph *graph, int32_t partition, struct error *error) {
    if (!graph->parts[partition].family) return detached(partition, error);
    return graph_building(graph, partition) ? graph_finish(graph, partition, clock_wall_ms(), error) : 0;
}

static int corrupt(int64_t user, struct error *error) {
    return error_set(error, -EBADMSG, "the friend list of user %lld is damaged", (long long)user);
}

static int list_decode(const struct store_pin *pin, int64_t user, struct friend_list *list, struct error *error) {
    size_t others, size;
    const uint8_t *bytes = list_begin(pin, &others, &size);
    int code = bytes ? friend_list_decode(list, bytes, size) : -EBADMSG;
    list->others = code ? 0 : others;
    return code ? corrupt(user, error) : 0;
}

int graph_friends(struct graph *graph, int32_t partition, int64_t user, struct friend_list *list, struct error *error) {
    struct graph_part *part = &graph->parts[partition];
    uint8_t key[GRAPH_LIST_KEY];
    struct store_pin pin;
    list->count = list->others = 0;
    if (!part->family || part->build) {
        int code = ready(graph, partition, error);
        if (code) return code;
    }
    graph_list_key(key, user);
    int found = store_get_pinned(graph->store, part->family, key, sizeof key, &pin, error);
    if (found <= 0) return found;
    int code = list_decode(&pin, user, list, error);
    store_pin_release(&pin);
    return code;
}

int graph_friends_many(struct graph *graph, int32_t partition, const int64_t *users, size_t count,
                       struct friend_list *lists, struct error *error) {
    uint8_t keys[GRAPH_MANY * GRAPH_LIST_KEY];
    struct store_pin pins[GRAPH_MANY];
    int code = ready(graph, partition, error);
    if (code) return code;
    for (size_t i = 0; i < count; i++) graph_list_key(keys + i * GRAPH_LIST_KEY, users[i]);
    code = store_get_many(graph->store, graph->parts[partition].family, keys, GRAPH_LIST_KEY, count, pins, error);
    if (code) return code;
    for (size_t i = 0; i < count; i++) {
        lists[i].count = lists[i].others = 0;
        if (!code && pins[i].handle) code = list_decode(&pins[i], users[i], &lists[i], error);
        store_pin_release(&pins[i]);
    }
    return code;
}

/* 0 where it is not kept (any more). What was applied last comes before what the family was built of. */
static int read_since(struct graph *graph, int32_t partition, int64_t user, int64_t other, int64_t *since,
                      struct error *error) {
    int64_t today = clock_wall_ms() / GRAPH_DAY_MS;
    *since = 0;
    for (int built = 0; built < 2; built++) {
        struct store_family *family = built ? graph->parts[partition].family : graph->sinces;
        size_t size = built ? GRAPH_SINCE_KEY : GRAPH_LATE_KEY;
        for (int64_t day = today + 1; day >= today - 1; day--) { // the clock may have gone back over midnight
            uint8_t key[GRAPH_LATE_KEY];
            struct store_pin pin;
            if (built)
                graph_since_key(key, day, user, other);
            else
                graph_late_key(key, partition, day, user, other);
            int found = store_get_pinned(graph->store, family, key, size, &pin, error);
            if (found < 0) return found;
            if (!found) continue;
            if (pin.size == 8) *since = (int64_t)bytes_get_be64(pin.data);
            store_pin_release(&pin);
            return 0;
        }
    }
    return 0;
}

static bool half_decode(const uint8_t *value, size_t size, struct friendship *half) {
    if (size != GRAPH_HALF_SIZE) return false;
    *half = (struct friendship){
        .state = (enum friendship_state)(value[0] & 3),
        .blocked_by_me = value[0] >> 2 & 1,
        .blocked_by_them = value[0] >> 3 & 1,
        .since = (int64_t)bytes_get_be64(value + 1),
    };
    return true;
}

/* One that is no friendship; empty when there is none. */
static int read_half(struct graph *graph, struct graph_part *part, int64_t user, int64_t other, struct friendship *half,
                     struct error *error) {
    struct friendship result = {.state = FRIENDSHIP_NONE};
    uint8_t key[GRAPH_HALF_KEY];
    struct store_pin pin;
    graph_half_key(key, user, other);
    int found = store_get_pinned(graph->store, part->family, key, sizeof key, &pin, error);
    if (found < 0) return found;
    if (found) {
        bool fine = half_decode(pin.data, pin.size, &result);
        store_pin_release(&pin);
        if (!fine) return corrupt(user, error);
    }
    *half = result;
    return 0;
}

int graph_half(struct graph *graph, int32_t partition, int64_t user, int64_t other, struct friendship *half,
               size_t *friends, struct error *error) {
    struct graph_part *part = &graph->parts[partition];
    uint8_t key[GRAPH_LIST_KEY];
    struct store_pin pin;
    struct friendship result = {.state = FRIENDSHIP_NONE};
    size_t count = 0, others = 0, size;
    int code = ready(graph, partition, error);
    if (code) return code;
    graph_list_key(key, user);
    int found = store_get_pinned(graph->store, part->family, key, sizeof key, &pin, error);
    if (found < 0) return found;
    if (found) {
        const uint8_t *bytes = list_begin(&pin, &others, &size);
        if (bytes && friend_list_holds(bytes, size, other)) result.state = FRIENDSHIP_FRIENDS;
        if (bytes) count = friend_list_count(bytes, size);
        store_pin_release(&pin);
        if (!bytes) return corrupt(user, error);
    }
    if (friendship_made(&result))
        code = read_since(graph, partition, user, other, &result.since, error);
    else if (others)
        code = read_half(graph, part, user, other, &result, error);
    if (code) return code;
    *half = result;
    if (friends) *friends = count;
    return 0;
}

int graph_half_beside(struct graph *graph, int32_t partition, int64_t user, const struct friend_list *friends,
                      int64_t other, bool with_since, struct friendship *half, struct error *error) {
    struct graph_part *part = &graph->parts[partition];
    struct friendship result = {.state = FRIENDSHIP_NONE};
    size_t at;
    int code = ready(graph, partition, error);
    if (code) return code;
    if (friend_list_find(friends, other, &at)) {
        result.state = FRIENDSHIP_FRIENDS;
        if (with_since) code = read_since(graph, partition, user, other, &result.since, error);
    } else if (friends->others) {
        code = read_half(graph, part, user, other, &result, error);
    }
    if (!code) *half = result;
    return code;
}

/* The next half of the user that is no FRIENDS and shows as one of the views; false: none. */
static bool next_half(struct store_cursor *cursor, int64_t user, unsigned views, struct graph_entry *entry) {
    for (; store_cursor_valid(cursor); store_cursor_next(cursor)) {
        size_t key_size, size;
        const uint8_t *key = store_cursor_key(cursor, &key_size);
        if (key_size < GRAPH_LIST_KEY || bytes_get_be64(key) != (uint64_t)user) return false;
        const uint8_t *value = store_cursor_value(cursor, &size);
        struct friendship half;
        if (key_size != GRAPH_HALF_KEY || !half_decode(value, size, &half)) continue;
        enum friendship_view view = friendship_view(&half);
        if (!(views & 1u << view)) continue;
        *entry = (struct graph_entry){.other = (int64_t)bytes_get_be64(key + 8), .since = half.since, .view = view};
        return true;
    }
    return false;
}

int graph_page(struct graph *graph, int32_t partition, int64_t user, unsigned views, int64_t after,
               struct graph_entry *entries, size_t limit, size_t *count, bool *more, struct error *error) {
    struct graph_part *part = &graph->parts[partition];
    uint8_t key[GRAPH_HALF_KEY];
    size_t filled = 0, at = 0;
    bool beyond = false;
    int code = graph_friends(graph, partition, user, &graph->list, error);
    if (code) return code;
    if (!(views & 1u << FRIENDSHIP_VIEW_FRIENDS)) graph->list.count = 0;
    if (after == INT64_MAX) {
        *count = 0;
        *more = false;
        return 0;
    }
    friend_list_find(&graph->list, after + 1, &at);

    struct store_cursor *cursor = store_cursor_new(graph->store, part->family);
    struct graph_entry half;
    graph_half_key(key, user, after + 1);
    store_cursor_seek(cursor, key, sizeof key);
    bool have = next_half(cursor, user, views, &half);
    while (!code && (have || at < graph->list.count)) {
        if (filled == limit) {
            beyond = true;
            break;
        }
        if (have && (at == graph->list.count || half.other < graph->list.items[at])) {
            entries[filled++] = half;
            store_cursor_next(cursor);
            have = next_half(cursor, user, views, &half);
        } else {
            struct graph_entry entry = {.other = graph->list.items[at++], .view = FRIENDSHIP_VIEW_FRIENDS};
            code = read_since(graph, partition, user, entry.other, &entry.since, error);
            entries[filled++] = entry;
        }
    }
    if (!code) code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    if (code) return code;
    *count = filled;
    *more = beyond;
    return 0;
}

int graph_checkpoint(struct graph *graph, const char *path, struct error *error) {
    return store_checkpoint(graph->store, path, error);
}

int graph_compact(struct graph *graph, int32_t partition, struct error *error) {
    int code = ready(graph, partition, error);
    if (!code) code = store_compact(graph->store, graph->parts[partition].family);
    return code;
}

struct graph_usage graph_usage(struct graph *graph) {
    struct graph_usage usage = {.store = store_usage(graph->store)};
    for (int32_t p = 0; p < graph->options.partitions; p++) {
        const struct graph_part *part = &graph->parts[p];
        usage.build += part->capacity * sizeof *part->updates + (part->build ? graph_runs_bytes(part->build->runs) : 0);
    }
    return usage;
}
