#include <stdlib.h>
#include <string.h>

#include "adjacency/private.h"
#include "base/bytes.h"
#include "base/mem.h"

/* Over the marks of a list, by id. */
struct mark_walk {
    struct adjacency_list list;
    struct store_cursor *cursor;
};

static struct mark_walk walk_from(struct adjacency *adjacency, struct adjacency_list list, int64_t id) {
    struct adjacency_key key = adjacency_mark_key(list.owner, list.kind, id);
    struct mark_walk walk = {.list = list,
                             .cursor = store_cursor_new(adjacency->store, adjacency->parts[list.partition].family)};
    store_cursor_seek(walk.cursor, key.bytes, key.size);
    return walk;
}

/* 1: the next mark is in *entry; 0: the end. */
static int walk_next(struct mark_walk *walk, struct adjacency_entry *entry, struct error *error) {
    struct adjacency_key any = adjacency_mark_key(walk->list.owner, walk->list.kind, 0);
    size_t key_size, size, prefix = any.size - 8;
    if (!store_cursor_valid(walk->cursor)) return store_cursor_error(walk->cursor, error);
    const uint8_t *key = store_cursor_key(walk->cursor, &key_size);
    if (key_size != any.size || memcmp(key, any.bytes, prefix)) return 0;
    const uint8_t *value = store_cursor_value(walk->cursor, &size);
    if (!adjacency_aside_decode(value, size, entry) || !adjacency_is_member(entry->tag))
        return adjacency_corrupt(walk->list, error);
    entry->id = (int64_t)bytes_get_be64(key + prefix);
    store_cursor_next(walk->cursor);
    return 1;
}

void adjacency_entries_free(struct adjacency_entries *entries) {
    free(entries->items);
    *entries = (struct adjacency_entries){.items = NULL};
}

int adjacency_marked(struct adjacency *adjacency, struct adjacency_list list, const struct id_list *members,
                     struct adjacency_entries *entries, struct error *error) {
    entries->count = 0;
    if (!members->marked) return 0;
    int code = adjacency_ready(adjacency, list.partition, error);
    if (code) return code;
    MEM_FIT(entries->items, members->marked, entries->capacity);
    struct mark_walk walk = walk_from(adjacency, list, 0);
    struct adjacency_entry entry;
    while ((code = walk_next(&walk, &entry, error)) > 0 && entries->count < members->marked)
        entries->items[entries->count++] = entry;
    store_cursor_free(walk.cursor);
    if (code >= 0 && (code || entries->count != members->marked)) code = adjacency_corrupt(list, error);
    if (code) entries->count = 0;
    return code;
}

int adjacency_mark_entries(struct adjacency *adjacency, struct adjacency_list list, struct adjacency_entry *entries,
                           size_t count, struct error *error) {
    if (!count) return 0;
    struct mark_walk walk = walk_from(adjacency, list, entries->id);
    struct adjacency_entry mark;
    int code;
    size_t at = 0;
    while ((code = walk_next(&walk, &mark, error)) > 0) {
        while (at < count && entries[at].id < mark.id) at++;
        if (at == count) break;
        if (entries[at].id == mark.id) entries[at] = mark;
    }
    store_cursor_free(walk.cursor);
    return code < 0 ? code : 0;
}
