#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "router/graph_private.h"

void graph_add(struct graph *graph, int32_t partition, int64_t offset, int64_t user, int64_t other,
               const struct friendship *half) {
    struct graph_part *part = &graph->parts[partition];
    if (!part->family || (part->build && part->build->abandoned)) return;
    if (part->count == part->capacity) {
        part->capacity = part->capacity ? part->capacity * 2 : 1024;
        part->updates = mem_resize(part->updates, part->capacity, sizeof *part->updates);
    }
    part->updates[part->count++] = (struct graph_update){
        .user = user,
        .other = other,
        .offset = offset,
        .since = half->since,
        .state = half->state,
        .blocked_by_me = half->blocked_by_me,
        .blocked_by_them = half->blocked_by_them,
    };
}

size_t graph_queued(const struct graph *graph, int32_t partition) {
    const struct graph_part *part = &graph->parts[partition];
    return part->count - (part->build ? part->build->cut : 0);
}

static void note_change(struct graph *graph, const struct graph_update *update, bool friends) {
    if (graph->change_count == graph->change_capacity) {
        graph->change_capacity = graph->change_capacity ? graph->change_capacity * 2 : 256;
        graph->changes = mem_resize(graph->changes, graph->change_capacity, sizeof *graph->changes);
    }
    graph->changes[graph->change_count++] =
        (struct graph_change){.user = update->user, .other = update->other, .made = friends};
}

/* The friendships that came last are the ones too many. */
void graph_note_excess(struct graph_excess *excess, const struct graph_update *updates, size_t count, size_t too_many,
                       int64_t *hold) {
    size_t first = excess->count;
    if (excess->count + count > excess->capacity) {
        excess->capacity = (excess->count + count) * 2;
        excess->items = mem_resize(excess->items, excess->capacity, sizeof *excess->items);
    }
    for (size_t i = 0; i < count; i++) {
        if (graph_update_made(&updates[i])) excess->items[excess->count++] = updates[i];
    }
    while (excess->count - first > too_many) { // drop the oldest
        size_t oldest = first;
        for (size_t i = first + 1; i < excess->count; i++) {
            if (excess->items[i].offset < excess->items[oldest].offset) oldest = i;
        }
        excess->items[oldest] = excess->items[--excess->count];
    }
    for (size_t i = first; i < excess->count; i++) {
        if (excess->items[i].offset < *hold) *hold = excess->items[i].offset;
    }
}

void graph_tell_excess(struct graph *graph, int32_t partition, const struct graph_excess *excess) {
    const struct graph_options *options = &graph->options;
    for (size_t i = 0; i < excess->count; i++) {
        const struct graph_update *e = &excess->items[i];
        options->on_excess(options->context, partition, e->user, e->other, e->since, e->offset);
    }
}

/* A user's list and updates, both in rising order, become graph->merged. */
static void merge(struct graph *graph, const struct friend_list *old, const struct graph_update *updates,
                  size_t count) {
    struct friend_list *new = &graph->merged;
    size_t at = 0;
    new->count = 0;
    new->others = old->others;
    friend_list_reserve(new, old->count + count);
    for (size_t i = 0; i < count; i++) {
        const struct graph_update *update = &updates[i];
        while (at < old->count && old->items[at] < update->other) new->items[new->count++] = old->items[at++];
        bool was = at < old->count && old->items[at] == update->other, is = graph_update_made(update);
        at += was;
        if (is) new->items[new->count++] = update->other;
        if (is != was) note_change(graph, update, is);
    }
    while (at < old->count) new->items[new->count++] = old->items[at++];
}

static void put_list(struct graph *graph, struct graph_part *part, int64_t user) {
    uint8_t key[GRAPH_LIST_KEY];
    graph_list_key(key, user);
    if (!graph->merged.count && !graph->merged.others) {
        store_batch_delete(graph->batch, part->family, key, sizeof key);
        return;
    }
    buffer_clear(&graph->bytes);
    graph_list_encode(&graph->bytes, &graph->merged);
    store_batch_put(graph->batch, part->family, key, sizeof key, graph->bytes.data, graph->bytes.size);
}

static void put_since(struct graph *graph, int32_t partition, const struct graph_update *update, int64_t now_ms) {
    uint8_t key[GRAPH_LATE_KEY], value[8];
    graph_late_key(key, partition, now_ms / GRAPH_DAY_MS, update->user, update->other);
    bytes_put_be64(value, (uint64_t)update->since);
    store_batch_put(graph->batch, graph->sinces, key, sizeof key, value, sizeof value);
}

/* Whether the key (user, other) is there: of a user without any, or of a friend, it is not. */
static int has_half(struct graph *graph, struct graph_part *part, const struct friend_list *list,
                    const uint8_t key[GRAPH_HALF_KEY], int64_t other, struct error *error) {
    struct store_pin pin;
    size_t at;
    if (!list->others || friend_list_find(list, other, &at)) return 0;
    int found = store_get_pinned(graph->store, part->family, key, GRAPH_HALF_KEY, &pin, error);
    if (found > 0) store_pin_release(&pin);
    return found;
}

/* The key (user, other), counted in graph->merged. It is deleted only where it is. */
static int put_half(struct graph *graph, struct graph_part *part, const struct friend_list *list,
                    const struct graph_update *update, struct error *error) {
    uint8_t key[GRAPH_HALF_KEY], value[GRAPH_HALF_SIZE];
    struct friendship half = graph_update_half(update);
    bool wanted = !friendship_made(&half) && !friendship_empty(&half);
    graph_half_key(key, update->user, update->other);
    int found = has_half(graph, part, list, key, update->other, error);
    if (found < 0) return found;
    if (wanted) {
        graph_half_encode(value, update);
        store_batch_put(graph->batch, part->family, key, sizeof key, value, sizeof value);
    } else if (found) {
        store_batch_delete(graph->batch, part->family, key, sizeof key);
    }
    graph->merged.others += (size_t)wanted - (size_t)found;
    return 0;
}

/* All updates of one user. */
static int apply_user(struct graph *graph, int32_t partition, const struct friend_list *list,
                      const struct graph_update *updates, size_t count, struct error *error) {
    struct graph_part *part = &graph->parts[partition];
    size_t changes = graph->change_count;
    int code = 0;
    merge(graph, list, updates, count);
    for (size_t i = 0; !code && i < count; i++) code = put_half(graph, part, list, &updates[i], error);
    bool changed = graph->change_count != changes || graph->merged.others != list->others;
    if (changed) put_list(graph, part, updates->user);
    size_t friends = graph->merged.count;
    // Also of friendships that were on the list before: their records are read again until their removal is on its way.
    if (friends > graph->options.cap)
        graph_note_excess(&graph->excess, updates, count, friends - graph->options.cap, &part->hold);
    return code;
}

/* All updates of the next users, whose lists are read at once; *from: behind them. */
static int apply_users(struct graph *graph, int32_t partition, size_t *from, struct error *error) {
    struct graph_part *part = &graph->parts[partition];
    int64_t users[GRAPH_MANY];
    size_t begins[GRAPH_MANY + 1], count = 0, at = *from;
    for (; count < GRAPH_MANY && at < part->count; count++) {
        begins[count] = at;
        users[count] = part->updates[at].user;
        while (at < part->count && part->updates[at].user == users[count]) at++;
    }
    begins[count] = at;
    int code = graph_friends_many(graph, partition, users, count, graph->lists, error);
    for (size_t i = 0; !code && i < count; i++)
        code =
            apply_user(graph, partition, &graph->lists[i], &part->updates[begins[i]], begins[i + 1] - begins[i], error);
    *from = at;
    return code;
}

static void tell(struct graph *graph, int32_t partition, bool restoring) {
    const struct graph_options *options = &graph->options;
    for (size_t i = 0; !restoring && i < graph->change_count; i++) {
        const struct graph_change *change = &graph->changes[i];
        options->on_change(options->context, change->user, change->other, change->made);
    }
    graph_tell_excess(graph, partition, &graph->excess);
}

int graph_apply(struct graph *graph, int32_t partition, int64_t next, int64_t now_ms, bool restoring,
                struct error *error) {
    struct graph_part *part = &graph->parts[partition];
    int code = 0;
    if (!part->family || graph_finishing(graph, partition) || (!part->count && next == part->next)) return 0;
    if (part->build) {
        if (restoring) return graph_build_take(graph, partition, next, error);
        code = graph_finish(graph, partition, now_ms, error);
        if (code) return code;
    }
    store_batch_clear(graph->batch);
    graph->change_count = graph->excess.count = 0;
    part->count = graph_updates_tidy(part->updates, part->count);
    for (size_t from = 0; !code && from < part->count;) code = apply_users(graph, partition, &from, error);
    if (code) return code;
    // Behind all the rest, as they stand in the store: what is inserted in order finds its place beside the one before.
    for (size_t i = 0; i < part->count; i++) {
        const struct graph_update *update = &part->updates[i];
        if (graph_update_made(update) && (!restoring || now_ms - update->since < GRAPH_DAY_MS))
            put_since(graph, partition, update, now_ms);
    }
    int64_t before = part->next;
    part->next = next;
    graph_put_meta(graph, part, now_ms);
    code = store_write(graph->store, graph->batch, false, error);
    if (code) {
        part->next = before;
        return code;
    }
    part->count = 0;
    tell(graph, partition, restoring);
    return 0;
}
