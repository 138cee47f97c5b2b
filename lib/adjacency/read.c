#include <errno.h>
#include <string.h>

#include "adjacency/private.h"
#include "base/bytes.h"
#include "base/clock.h"

int adjacency_ready(struct adjacency *adjacency, int32_t partition, struct error *error) {
    if (!adjacency->parts[partition].family)
        return error_set(error, -ESTALE, "the lists of partition %d are not open", partition);
    return adjacency_building(adjacency, partition) ? adjacency_finish(adjacency, partition, clock_wall_ms(), error)
                                                    : 0;
}

/* ---- whole lists ---- */

/* Replaces `ids` by the list whose root is pinned. */
static inline int decode_members(struct adjacency *adjacency, struct adjacency_list list, const struct store_pin *pin,
                                 struct id_list *ids, struct error *error) {
    struct adjacency_root root;
    ids->count = ids->others = ids->marked = 0;
    if (!adjacency_root_decode(pin, &root)) return adjacency_corrupt(list, error);
    int code;
    if (root.chunked)
        code = adjacency_walk_all(adjacency, list, &root, ids, error);
    else
        code = id_list_decode(ids, root.ids, root.size) ? adjacency_corrupt(list, error) : 0;
    if (code) {
        ids->count = 0;
    } else {
        ids->others = root.asides;
        ids->marked = root.marks;
    }
    return code;
}

/* 1 with the root pinned; 0: there is none. */
static int pin_root(struct adjacency *adjacency, struct adjacency_list list, struct store_pin *pin,
                    struct error *error) {
    struct adjacency_part *part = &adjacency->parts[list.partition];
    *pin = (struct store_pin){.handle = NULL};
    if (!part->family || part->build) {
        int code = adjacency_ready(adjacency, list.partition, error);
        if (code) return code;
    }
    struct adjacency_key key = adjacency_root_key(list.owner, list.kind);
    return store_get_pinned(adjacency->store, part->family, key.bytes, key.size, pin, error);
}

int adjacency_members(struct adjacency *adjacency, struct adjacency_list list, struct id_list *ids,
                      struct error *error) {
    struct store_pin pin;
    ids->count = ids->others = ids->marked = 0;
    int found = pin_root(adjacency, list, &pin, error);
    if (found <= 0) return found;
    int code = decode_members(adjacency, list, &pin, ids, error);
    store_pin_release(&pin);
    return code;
}

int adjacency_roots(struct adjacency *adjacency, const struct adjacency_list *lists, size_t count,
                    struct store_pin pins[ADJACENCY_MANY], struct error *error) {
    uint8_t keys[ADJACENCY_MANY * ADJACENCY_KEY_MAX];
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        struct adjacency_key key = adjacency_root_key(lists[i].owner, lists[i].kind);
        size = key.size;
        memcpy(keys + i * size, key.bytes, size);
    }
    if (!count) return 0;
    return store_get_many(adjacency->store, adjacency->parts[lists->partition].family, keys, size, count, pins, error);
}

int adjacency_members_many(struct adjacency *adjacency, int32_t partition, uint8_t kind, const int64_t *owners,
                           size_t count, struct id_list *lists, struct error *error) {
    struct adjacency_list which[ADJACENCY_MANY];
    struct store_pin pins[ADJACENCY_MANY];
    int code = adjacency_ready(adjacency, partition, error);
    for (size_t i = 0; i < count; i++)
        which[i] = (struct adjacency_list){.owner = owners[i], .partition = partition, .kind = kind};
    if (!code) code = adjacency_roots(adjacency, which, count, pins, error);
    if (code) return code;
    for (size_t i = 0; i < count; i++) {
        if (!code) code = decode_members(adjacency, which[i], &pins[i], &lists[i], error);
        store_pin_release(&pins[i]);
    }
    return code;
}

int adjacency_slice(struct adjacency *adjacency, struct adjacency_list list, int64_t after, struct id_list *ids,
                    struct error *error) {
    struct store_pin pin;
    struct adjacency_root root;
    struct adjacency_walk walk;
    size_t at = 0;
    ids->count = ids->others = 0;
    int found = pin_root(adjacency, list, &pin, error);
    if (found <= 0 || after == INT64_MAX) {
        store_pin_release(&pin);
        return found < 0 ? found : 0;
    }
    int code = adjacency_root_decode(&pin, &root) ? 0 : adjacency_corrupt(list, error);
    if (!code) {
        code = adjacency_walk_begin(adjacency, &walk, list, &root, after + 1, ids, error);
        // All ids of a chunk may be at or below `after`: the next one may have more.
        while (!code && (id_list_find(ids, after + 1, &at), at == ids->count)) {
            ids->count = at = 0;
            if ((code = adjacency_walk_next(&walk, ids, error)) <= 0) break;
            code = 0;
        }
        store_cursor_free(walk.cursor);
    }
    store_pin_release(&pin);
    ids->count = code ? 0 : ids->count - at;
    if (at && ids->count) memmove(ids->items, ids->items + at, ids->count * sizeof *ids->items);
    return code;
}

int adjacency_count(struct adjacency *adjacency, struct adjacency_list list, size_t *members, struct error *error) {
    struct store_pin pin;
    struct adjacency_root root;
    int found = pin_root(adjacency, list, &pin, error);
    if (found < 0) return found;
    bool fine = adjacency_root_decode(&pin, &root);
    if (fine) *members = root.chunked ? root.members : id_list_count(root.ids, root.size);
    store_pin_release(&pin);
    return fine ? 0 : adjacency_corrupt(list, error);
}

/* ---- one entry ---- */

enum { STAMP_SOURCES = 2, STAMP_DAYS = 3 };

/* The key of a stamp. Stamps that were applied later (source 0) come before those from the build of the family, and the newest day
 * comes first. The clock may have gone back over midnight. */
static struct adjacency_key stamp_key(struct adjacency_list list, int source, int64_t day, int64_t id) {
    return source ? adjacency_built_key(day, list.owner, list.kind, id)
                  : adjacency_late_key(list.partition, day, list.owner, list.kind, id);
}

static struct store_family *stamp_family(const struct adjacency *adjacency, int32_t partition, int source) {
    return source ? adjacency->parts[partition].family : adjacency->stamps;
}

static int read_stamp(struct adjacency *adjacency, struct adjacency_list list, struct adjacency_entry *entry,
                      struct error *error) {
    int64_t today = clock_wall_ms() / ADJACENCY_DAY_MS;
    for (int i = 0; adjacency->stamps && i < STAMP_SOURCES * STAMP_DAYS; i++) {
        struct adjacency_key key = stamp_key(list, i / STAMP_DAYS, today + 1 - i % STAMP_DAYS, entry->id);
        struct store_family *family = stamp_family(adjacency, list.partition, i / STAMP_DAYS);
        struct store_pin pin;
        int found = store_get_pinned(adjacency->store, family, key.bytes, key.size, &pin, error);
        if (found < 0) return found;
        if (!found) continue;
        entry->stamped = pin.size == 8;
        if (entry->stamped) entry->stamp = (int64_t)bytes_get_be64(pin.data);
        store_pin_release(&pin);
        break;
    }
    return 0;
}

/* 1: tag and stamp are the entry's; 0: there is nothing under the key. */
static int read_beside(struct adjacency *adjacency, struct adjacency_list list, struct adjacency_key key,
                       struct adjacency_entry *entry, struct error *error) {
    struct store_family *family = adjacency->parts[list.partition].family;
    struct store_pin pin;
    int found = store_get_pinned(adjacency->store, family, key.bytes, key.size, &pin, error);
    if (found <= 0) return found;
    bool fine = adjacency_aside_decode(pin.data, pin.size, entry);
    store_pin_release(&pin);
    return fine ? 1 : adjacency_corrupt(list, error);
}

int adjacency_read_mark(struct adjacency *adjacency, struct adjacency_list list, struct adjacency_entry *entry,
                        struct error *error) {
    return read_beside(adjacency, list, adjacency_mark_key(list.owner, list.kind, entry->id), entry, error);
}

/* Of what a list has beside it, the entry's part. */
struct beside {
    size_t asides, marks;
    bool member, with_stamp;
};

static int read_entry(struct adjacency *adjacency, struct adjacency_list list, const struct beside *beside,
                      struct adjacency_entry *entry, struct error *error) {
    int code = 0;
    if (!beside->member) {
        struct adjacency_key key = adjacency_aside_key(list.owner, list.kind, entry->id);
        if (beside->asides) code = read_beside(adjacency, list, key, entry, error);
        return code < 0 ? code : 0;
    }
    entry->tag = ADJACENCY_MEMBER;
    if (beside->marks) code = adjacency_read_mark(adjacency, list, entry, error);
    if (!code && beside->with_stamp) code = read_stamp(adjacency, list, entry, error);
    return code < 0 ? code : 0;
}

/* Whether the id is a member. */
static int look_for(struct adjacency *adjacency, struct adjacency_list list, const struct adjacency_root *root,
                    int64_t id, bool *member, struct error *error) {
    if (!root->chunked) {
        *member = id_list_holds(root->ids, root->size, id);
        return 0;
    }
    struct adjacency_walk walk;
    struct id_list *ids = &adjacency->old;
    size_t at;
    ids->count = 0;
    int code = adjacency_walk_begin(adjacency, &walk, list, root, id, ids, error);
    store_cursor_free(walk.cursor);
    if (!code) *member = id_list_find(ids, id, &at);
    return code;
}

int adjacency_find(struct adjacency *adjacency, struct adjacency_list list, int64_t id, struct adjacency_entry *entry,
                   size_t *members, struct error *error) {
    struct adjacency_entry result = {.id = id, .tag = ADJACENCY_NONE};
    struct adjacency_root root;
    struct store_pin pin;
    bool member = false;
    size_t count = 0;
    int found = pin_root(adjacency, list, &pin, error);
    if (found < 0) return found;
    int code = adjacency_root_decode(&pin, &root) ? 0 : adjacency_corrupt(list, error);
    if (!code) code = look_for(adjacency, list, &root, id, &member, error);
    if (!code) count = root.chunked ? root.members : id_list_count(root.ids, root.size);
    store_pin_release(&pin);
    if (code) return code;
    struct beside beside = {.asides = root.asides, .marks = root.marks, .member = member, .with_stamp = true};
    code = read_entry(adjacency, list, &beside, &result, error);
    if (code) return code;
    *entry = result;
    if (members) *members = count;
    return 0;
}

int adjacency_find_beside(struct adjacency *adjacency, struct adjacency_list list, const struct id_list *members,
                          int64_t id, bool with_stamp, struct adjacency_entry *entry, struct error *error) {
    struct adjacency_entry result = {.id = id, .tag = ADJACENCY_NONE};
    size_t at;
    int code = adjacency_ready(adjacency, list.partition, error);
    if (code) return code;
    struct beside beside = {.asides = members->others,
                            .marks = members->marked,
                            .member = id_list_find(members, id, &at),
                            .with_stamp = with_stamp};
    code = read_entry(adjacency, list, &beside, &result, error);
    if (!code) *entry = result;
    return code;
}

/* ---- pages ---- */

/* The next aside of the list with one of the tags; false: none, or a failure (*code). */
static bool next_aside(struct store_cursor *cursor, struct adjacency_list list, uint64_t tags,
                       struct adjacency_entry *entry, int *code, struct error *error) {
    struct adjacency_key any = adjacency_aside_key(list.owner, list.kind, 0);
    for (; store_cursor_valid(cursor); store_cursor_next(cursor)) {
        size_t key_size, size, prefix = any.size - 8;
        const uint8_t *key = store_cursor_key(cursor, &key_size);
        if (key_size != any.size || memcmp(key, any.bytes, prefix)) return false;
        const uint8_t *value = store_cursor_value(cursor, &size);
        if (!adjacency_aside_decode(value, size, entry)) {
            *code = adjacency_corrupt(list, error);
            return false;
        }
        if (!(tags & UINT64_C(1) << entry->tag)) continue;
        entry->id = (int64_t)bytes_get_be64(key + prefix);
        return true;
    }
    *code = store_cursor_error(cursor, error);
    return false;
}

/* Gives the page's members their stamps of one source and day, in one walk from the first to the last of them. */
static void stamp_entries(struct store_cursor *cursor, struct adjacency_list list, int source, int64_t day,
                          struct adjacency_entry *entries, size_t count) {
    struct adjacency_key key = stamp_key(list, source, day, entries->id);
    size_t prefix = key.size - 8, at = 0;
    for (store_cursor_seek(cursor, key.bytes, key.size); store_cursor_valid(cursor); store_cursor_next(cursor)) {
        size_t key_size, size;
        const uint8_t *found = store_cursor_key(cursor, &key_size);
        if (key_size != key.size || memcmp(found, key.bytes, prefix)) return;
        int64_t id = (int64_t)bytes_get_be64(found + prefix);
        while (at < count && entries[at].id < id) at++;
        if (at == count) return;
        const uint8_t *value = store_cursor_value(cursor, &size);
        struct adjacency_entry *entry = &entries[at];
        if (entry->id != id || entry->stamped || entry->tag != ADJACENCY_MEMBER || size != 8) continue;
        entry->stamp = (int64_t)bytes_get_be64(value);
        entry->stamped = true;
    }
}

static int stamp_page(struct adjacency *adjacency, struct adjacency_list list, struct adjacency_entry *entries,
                      size_t count, struct error *error) {
    int64_t today = clock_wall_ms() / ADJACENCY_DAY_MS;
    int code = 0;
    for (int source = 0; !code && adjacency->stamps && count && source < STAMP_SOURCES; source++) {
        struct store_cursor *cursor =
            store_cursor_new(adjacency->store, stamp_family(adjacency, list.partition, source));
        for (int day = 0; !code && day < STAMP_DAYS; day++) {
            stamp_entries(cursor, list, source, today + 1 - day, entries, count);
            code = store_cursor_error(cursor, error);
        }
        store_cursor_free(cursor);
    }
    return code;
}

/* Where a page is in a list's members. */
struct page_members {
    struct adjacency_walk walk;
    struct id_list *ids;
    size_t at;
    bool wanted;
};

/* 1: ids->items[at] is the next member; 0: there is none. */
static int more_members(struct page_members *members, struct error *error) {
    while (members->wanted && members->at == members->ids->count) {
        members->ids->count = members->at = 0;
        int code = adjacency_walk_next(&members->walk, members->ids, error);
        if (code <= 0) members->wanted = false;
        if (code < 0) return code;
    }
    return members->wanted;
}

struct entry_page {
    struct adjacency_entry *entries;
    size_t limit, count;
    bool more;
};

static int fill_page(struct entry_page *page, struct page_members *members, struct store_cursor *cursor,
                     struct adjacency_list list, uint64_t tags, struct error *error) {
    struct adjacency_entry aside;
    int code = 0;
    bool have = cursor && next_aside(cursor, list, tags, &aside, &code, error);
    while (!code) {
        int left = more_members(members, error);
        if (left < 0) return left;
        if (!have && !left) return 0;
        page->more = page->count == page->limit;
        if (page->more) return 0;
        int64_t id = left ? members->ids->items[members->at] : 0;
        if (have && (!left || aside.id < id)) {
            page->entries[page->count++] = aside;
            store_cursor_next(cursor);
            have = next_aside(cursor, list, tags, &aside, &code, error);
        } else {
            page->entries[page->count++] = (struct adjacency_entry){.id = id, .tag = ADJACENCY_MEMBER};
            members->at++;
        }
    }
    return code;
}

static int page_of_root(struct adjacency *adjacency, struct adjacency_list list, const struct adjacency_root *root,
                        uint64_t tags, int64_t after, struct entry_page *page, struct error *error) {
    struct page_members members = {.ids = &adjacency->old, .wanted = tags & UINT64_C(1) << ADJACENCY_MEMBER};
    struct store_cursor *cursor = NULL;
    int code = 0;
    members.ids->count = 0;
    if (members.wanted) {
        code = adjacency_walk_begin(adjacency, &members.walk, list, root, after + 1, members.ids, error);
        id_list_find(members.ids, after + 1, &members.at);
    }
    if (!code && root->asides && tags & ~(UINT64_MAX << ADJACENCY_MARKED)) {
        struct adjacency_key key = adjacency_aside_key(list.owner, list.kind, after + 1);
        cursor = store_cursor_new(adjacency->store, adjacency->parts[list.partition].family);
        store_cursor_seek(cursor, key.bytes, key.size);
    }
    if (!code) code = fill_page(page, &members, cursor, list, tags, error);
    if (!code && root->marks) code = adjacency_mark_entries(adjacency, list, page->entries, page->count, error);
    store_cursor_free(cursor);
    store_cursor_free(members.walk.cursor);
    return code;
}

int adjacency_page(struct adjacency *adjacency, struct adjacency_list list, uint64_t tags, int64_t after,
                   struct adjacency_entry *entries, size_t limit, size_t *count, bool *more, struct error *error) {
    struct entry_page page = {.entries = entries, .limit = limit};
    struct adjacency_root root;
    struct store_pin pin;
    int found = pin_root(adjacency, list, &pin, error);
    if (found < 0) return found;
    int code = adjacency_root_decode(&pin, &root) ? 0 : adjacency_corrupt(list, error);
    if (!code && after < INT64_MAX) code = page_of_root(adjacency, list, &root, tags, after, &page, error);
    store_pin_release(&pin);
    if (!code) code = stamp_page(adjacency, list, entries, page.count, error);
    if (code) return code;
    *count = page.count;
    *more = page.more;
    return 0;
}
