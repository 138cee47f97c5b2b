#include <stdlib.h>
#include <string.h>

#include "adjacency/private.h"
#include "base/bytes.h"
#include "base/mem.h"

void adjacency_add(struct adjacency *adjacency, struct adjacency_list list, int64_t id, uint8_t tag, int64_t stamp,
                   int64_t offset) {
    struct adjacency_part *part = &adjacency->parts[list.partition];
    if (!part->family || (part->build && adjacency_build_abandoned(part->build))) return;
    MEM_ROOM(part->updates, part->count, part->capacity);
    part->updates[part->count++] = (struct adjacency_update){
        .owner = list.owner, .id = id, .offset = offset, .stamp = stamp, .kind = list.kind, .tag = tag};
}

size_t adjacency_queued(const struct adjacency *adjacency, int32_t partition) {
    const struct adjacency_part *part = &adjacency->parts[partition];
    return part->count - (part->build ? adjacency_build_cut(part->build) : 0);
}

/* ---- what is too many ---- */

static int latest_first(const void *a, const void *b) {
    int64_t x = ((const struct adjacency_update *)a)->offset, y = ((const struct adjacency_update *)b)->offset;
    return (x < y) - (x > y);
}

void adjacency_note_excess(struct adjacency_excess *excess, const struct adjacency_update *updates, size_t count,
                           size_t too_many, int64_t *hold) {
    size_t first = excess->count;
    MEM_FIT(excess->items, excess->count + count, excess->capacity);
    for (size_t i = 0; i < count; i++)
        if (adjacency_update_member(&updates[i])) excess->items[excess->count++] = updates[i];
    if (excess->count - first > too_many) {
        qsort(excess->items + first, excess->count - first, sizeof *excess->items, latest_first);
        excess->count = first + too_many;
    }
    for (size_t i = first; i < excess->count; i++)
        if (excess->items[i].offset < *hold) *hold = excess->items[i].offset;
}

static struct adjacency_list list_of(int32_t partition, const struct adjacency_update *update) {
    return (struct adjacency_list){.owner = update->owner, .partition = partition, .kind = update->kind};
}

void adjacency_tell_excess(struct adjacency *adjacency, int32_t partition, const struct adjacency_excess *excess) {
    const struct adjacency_options *options = &adjacency->options;
    for (size_t i = 0; i < excess->count; i++) {
        const struct adjacency_update *e = &excess->items[i];
        options->on_excess(options->context, list_of(partition, e), e->id, e->stamp, e->offset);
    }
}

/* ---- one list ---- */

/* A list, and all updates of it that are queued, by id. */
struct change {
    struct adjacency *adjacency;
    struct adjacency_part *part;
    struct adjacency_list list;
    struct adjacency_root root; /* as it was */
    const struct adjacency_update *updates;
    size_t count;
    bool *was;                     /* whether each update's id was a member */
    size_t members, asides, marks; /* as they will be */
};

static void put(struct change *change, const struct adjacency_key *key, const struct buffer *value) {
    store_batch_put(change->adjacency->batch, change->part->family, key->bytes, key->size, value->data, value->size);
}

static void delete (struct change *change, const struct adjacency_key *key) {
    store_batch_delete(change->adjacency->batch, change->part->family, key->bytes, key->size);
}

/* Appends to `merged` the old ids with the updates from `from` to `to`. */
static void merge(struct change *change, const struct id_list *old, size_t from, size_t to, struct id_list *merged) {
    size_t at = 0;
    id_list_reserve(merged, merged->count + old->count + (to - from));
    int64_t *items = merged->items + merged->count;
    for (size_t i = from; i < to; i++) {
        const struct adjacency_update *update = &change->updates[i];
        while (at < old->count && old->items[at] < update->id) *items++ = old->items[at++];
        change->was[i] = at < old->count && old->items[at] == update->id;
        at += change->was[i];
        if (adjacency_update_member(update)) *items++ = update->id;
    }
    while (at < old->count) *items++ = old->items[at++];
    merged->count = (size_t)(items - merged->items);
}

static void put_chunk(struct change *change, int64_t bound, const int64_t *items, size_t count) {
    struct buffer *bytes = &change->adjacency->bytes;
    struct adjacency_key key = adjacency_chunk_key(change->list.owner, change->list.kind, bound);
    buffer_clear(bytes);
    id_list_encode(bytes, items, count);
    put(change, &key, bytes);
}

static void delete_chunk(struct change *change, int64_t bound) {
    struct adjacency_key key = adjacency_chunk_key(change->list.owner, change->list.kind, bound);
    delete (change, &key);
}

/* The ids up to `bound`, as one chunk or, where they are too many, as several of about the same size. */
static void put_chunks(struct change *change, int64_t bound, const struct id_list *ids) {
    size_t chunk = change->adjacency->options.chunk, pieces = ids->count > 2 * chunk ? ids->count / chunk : 1;
    for (size_t i = 0; i < pieces; i++) {
        size_t from = ids->count * i / pieces, to = ids->count * (i + 1) / pieces;
        put_chunk(change, i + 1 < pieces ? ids->items[to - 1] : bound, ids->items + from, to - from);
    }
}

static void put_root(struct change *change, const struct id_list *whole) {
    struct adjacency_key key = adjacency_root_key(change->list.owner, change->list.kind);
    struct buffer *bytes = &change->adjacency->bytes;
    buffer_clear(bytes);
    if (!change->members && !change->asides) {
        delete (change, &key);
        return;
    }
    if (whole)
        adjacency_root_encode(bytes, whole);
    else
        adjacency_root_encode_chunked(bytes, change->asides, change->marks, change->members);
    put(change, &key, bytes);
}

/* Whether there is an aside: of a list without any, or of a member, there is not. */
static int has_aside(struct change *change, size_t i, const struct adjacency_key *key, struct error *error) {
    struct store_pin pin;
    if (!change->root.asides || change->was[i]) return 0;
    int found = store_get_pinned(change->adjacency->store, change->part->family, key->bytes, key->size, &pin, error);
    if (found > 0) store_pin_release(&pin);
    return found;
}

/* Writes the row beside the list that has that key (an aside, a mark), or deletes it where it is. */
static void put_beside(struct change *change, const struct adjacency_update *update, const struct adjacency_key *key,
                       bool wanted, bool found) {
    if (wanted) {
        uint8_t value[ADJACENCY_ASIDE_SIZE];
        adjacency_aside_encode(value, update);
        store_batch_put(change->adjacency->batch, change->part->family, key->bytes, key->size, value, sizeof value);
    } else if (found) {
        delete (change, key);
    }
}

static int put_aside(struct change *change, size_t i, struct error *error) {
    const struct adjacency_update *update = &change->updates[i];
    struct adjacency_key key = adjacency_aside_key(update->owner, update->kind, update->id);
    bool wanted = adjacency_update_aside(update);
    int found = has_aside(change, i, &key, error);
    if (found < 0) return found;
    put_beside(change, update, &key, wanted, found);
    change->asides += (size_t)wanted - (size_t)found;
    return 0;
}

/* *before: the id's tag as a member until now. */
static int put_mark(struct change *change, size_t i, uint8_t *before, struct error *error) {
    const struct adjacency_update *update = &change->updates[i];
    struct adjacency_entry old = {.id = update->id, .tag = ADJACENCY_MEMBER};
    bool wanted = adjacency_update_mark(update);
    int found =
        change->root.marks && change->was[i] ? adjacency_read_mark(change->adjacency, change->list, &old, error) : 0;
    if (found < 0) return found;
    struct adjacency_key key = adjacency_mark_key(update->owner, update->kind, update->id);
    put_beside(change, update, &key, wanted, found);
    change->marks += (size_t)wanted - (size_t)found;
    *before = change->was[i] ? old.tag : ADJACENCY_NONE;
    return 0;
}

static uint8_t tag_as_member(const struct adjacency_update *update) {
    return adjacency_update_member(update) ? update->tag : ADJACENCY_NONE;
}

static void note_change(struct change *change, const struct adjacency_update *update, uint8_t before) {
    struct adjacency *adjacency = change->adjacency;
    MEM_ROOM(adjacency->changes, adjacency->change_count, adjacency->change_capacity);
    adjacency->changes[adjacency->change_count++] = (struct adjacency_change){
        .list = change->list, .id = update->id, .before = before, .now = tag_as_member(update)};
}

/* Writes asides and marks of the updates, after it is known which ids were members. */
static int settle(struct change *change, struct error *error) {
    int code = 0;
    for (size_t i = 0; !code && i < change->count; i++) {
        const struct adjacency_update *update = &change->updates[i];
        uint8_t before = ADJACENCY_NONE, now = tag_as_member(update);
        code = put_mark(change, i, &before, error);
        if (!code && before != now) note_change(change, update, before);
        if (!code) code = put_aside(change, i, error);
    }
    return code;
}

/* Of a list that is one value, or of which so little may be left that it becomes one. */
static int change_whole(struct change *change, struct error *error) {
    struct adjacency *adjacency = change->adjacency;
    struct id_list *old = &adjacency->old, *merged = &adjacency->merged;
    size_t changes = adjacency->change_count;
    struct adjacency_walk walk;
    old->count = merged->count = 0;
    int left = adjacency_walk_begin(adjacency, &walk, change->list, &change->root, 0, old, error);
    if (!left) left = 1;
    while (left > 0) {
        if (change->root.chunked) delete_chunk(change, walk.bound);
        left = adjacency_walk_next(&walk, old, error);
    }
    store_cursor_free(walk.cursor);
    if (left < 0) return left;
    merge(change, old, 0, change->count, merged);
    int code = settle(change, error);
    if (code) return code;
    change->members = merged->count;
    merged->others = change->asides;
    merged->marked = change->marks;
    bool changed = adjacency->change_count != changes || change->asides != change->root.asides;
    if (!changed && !change->root.chunked) return 0;
    bool large = merged->count > 2 * adjacency->options.chunk;
    if (large) put_chunks(change, INT64_MAX, merged);
    put_root(change, large ? NULL : merged);
    return 0;
}

/* Goes through the chunks that have updates. A chunk that has become small is joined with the next. */
static int change_chunks(struct change *change, struct error *error) {
    struct adjacency *adjacency = change->adjacency;
    struct id_list *old = &adjacency->old, *merged = &adjacency->merged;
    size_t at = 0, changes = adjacency->change_count;
    struct adjacency_walk walk = {.list = change->list,
                                  .cursor = store_cursor_new(adjacency->store, change->part->family)};
    bool carried = false;
    int code = 0;
    while (!code && (carried || at < change->count)) {
        size_t from = at;
        old->count = 0;
        code = adjacency_walk_seek(&walk, carried ? walk.bound + 1 : change->updates[at].id, old, error);
        if (code) break;
        while (at < change->count && change->updates[at].id <= walk.bound) at++;
        if (!carried) merged->count = 0;
        merge(change, old, from, at, merged);
        bool same = true;
        for (size_t i = from; i < at; i++)
            same = same && change->was[i] == adjacency_update_member(&change->updates[i]);
        if (same && !carried) continue;
        carried = merged->count < adjacency->options.chunk / 4 && walk.bound < INT64_MAX;
        if (carried)
            delete_chunk(change, walk.bound);
        else
            put_chunks(change, walk.bound, merged);
    }
    store_cursor_free(walk.cursor);
    if (!code) code = settle(change, error);
    if (code) return code;
    for (size_t i = changes; i < adjacency->change_count; i++)
        change->members += (size_t)adjacency_is_member(adjacency->changes[i].now) -
                           (size_t)adjacency_is_member(adjacency->changes[i].before);
    if (adjacency->change_count != changes || change->asides != change->root.asides) put_root(change, NULL);
    return 0;
}

static size_t not_members(const struct adjacency_update *updates, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found += !adjacency_update_member(&updates[i]);
    return found;
}

static int change_list(struct adjacency *adjacency, struct adjacency_list list, const struct store_pin *pin,
                       const struct adjacency_update *updates, size_t count, struct error *error) {
    struct adjacency_part *part = &adjacency->parts[list.partition];
    struct change change = {.adjacency = adjacency, .part = part, .list = list, .updates = updates, .count = count};
    if (!adjacency_root_decode(pin, &change.root)) return adjacency_corrupt(list, error);
    MEM_FIT(adjacency->was, count, adjacency->was_capacity);
    change.was = adjacency->was;
    change.asides = change.root.asides;
    change.marks = change.root.marks;
    change.members = change.root.members;
    // One value again when less than a chunk may be left, so that a list at the limit does not go to and fro.
    bool whole = !change.root.chunked || change.root.members < adjacency->options.chunk + not_members(updates, count);
    int code = whole ? change_whole(&change, error) : change_chunks(&change, error);
    size_t limit = adjacency->options.limits[list.kind];
    // Also of ids that were members before: their records are read again until their removal is on its way.
    if (!code && limit && change.members > limit)
        adjacency_note_excess(&adjacency->excess, updates, count, change.members - limit, &part->hold);
    return code;
}

/* ---- all that is queued ---- */

/* All updates of the next lists, whose roots are read at once; *from: behind them. */
static int change_lists(struct adjacency *adjacency, int32_t partition, size_t *from, struct error *error) {
    const struct adjacency_part *part = &adjacency->parts[partition];
    struct adjacency_list lists[ADJACENCY_MANY];
    struct store_pin pins[ADJACENCY_MANY];
    size_t begins[ADJACENCY_MANY + 1], count = 0, at = *from;
    for (; count < ADJACENCY_MANY && at < part->count; count++) {
        const struct adjacency_update *first = &part->updates[at];
        if (count && !lists->kind != !first->kind) break; // their keys are of another length
        begins[count] = at;
        lists[count] = list_of(partition, first);
        while (at < part->count && adjacency_update_same_list(&part->updates[at], first)) at++;
    }
    begins[count] = at;
    int code = adjacency_roots(adjacency, lists, count, pins, error);
    if (code) return code;
    for (size_t i = 0; i < count; i++) {
        const struct adjacency_update *updates = &part->updates[begins[i]];
        if (!code) code = change_list(adjacency, lists[i], &pins[i], updates, begins[i + 1] - begins[i], error);
        store_pin_release(&pins[i]);
    }
    *from = at;
    return code;
}

static void put_stamp(struct adjacency *adjacency, int32_t partition, const struct adjacency_update *update,
                      int64_t now_ms) {
    uint8_t value[8];
    struct adjacency_key key =
        adjacency_late_key(partition, now_ms / ADJACENCY_DAY_MS, update->owner, update->kind, update->id);
    bytes_put_be64(value, (uint64_t)update->stamp);
    store_batch_put(adjacency->batch, adjacency->stamps, key.bytes, key.size, value, sizeof value);
}

static void tell(struct adjacency *adjacency, int32_t partition, bool restoring) {
    const struct adjacency_options *options = &adjacency->options;
    for (size_t i = 0; options->on_change && !restoring && i < adjacency->change_count; i++) {
        const struct adjacency_change *change = &adjacency->changes[i];
        options->on_change(options->context, change->list, change->id, change->before, change->now);
    }
    adjacency_tell_excess(adjacency, partition, &adjacency->excess);
}

/* Puts all that is queued into the batch, but for the offset. */
static int put_updates(struct adjacency *adjacency, int32_t partition, int64_t now_ms, bool restoring,
                       struct error *error) {
    struct adjacency_part *part = &adjacency->parts[partition];
    int code = 0;
    store_batch_clear(adjacency->batch);
    adjacency->change_count = adjacency->excess.count = 0;
    part->count = adjacency_updates_tidy(part->updates, part->count);
    for (size_t from = 0; !code && from < part->count;) code = change_lists(adjacency, partition, &from, error);
    // Behind all the rest, as they stand in the store: what is inserted in order finds its place beside the one before.
    for (size_t i = 0; !code && adjacency->stamps && i < part->count; i++) {
        const struct adjacency_update *update = &part->updates[i];
        if (update->tag == ADJACENCY_MEMBER && (!restoring || now_ms - update->stamp < ADJACENCY_DAY_MS))
            put_stamp(adjacency, partition, update, now_ms);
    }
    return code;
}

int adjacency_apply(struct adjacency *adjacency, int32_t partition, int64_t next, int64_t now_ms, bool restoring,
                    struct error *error) {
    struct adjacency_part *part = &adjacency->parts[partition];
    if (!part->family || adjacency_finishing(adjacency, partition) || (!part->count && next == part->next)) return 0;
    if (part->build) {
        if (restoring) return adjacency_build_take(adjacency, partition, next, error);
        int code = adjacency_finish(adjacency, partition, now_ms, error);
        if (code) return code;
    }
    int code = put_updates(adjacency, partition, now_ms, restoring, error);
    if (code) return code;
    int64_t before = part->next;
    part->next = next;
    adjacency_put_meta(adjacency, part, now_ms);
    code = store_write(adjacency->store, adjacency->batch, false, error);
    if (code) {
        part->next = before;
        return code;
    }
    part->count = 0;
    tell(adjacency, partition, restoring);
    return 0;
}
