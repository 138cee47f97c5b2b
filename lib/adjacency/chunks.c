#include <errno.h>
#include <string.h>

#include "adjacency/private.h"
#include "base/bytes.h"

int adjacency_corrupt(struct adjacency_list list, struct error *error) {
    return error_set(error, -EBADMSG, "the list of %lld (kind %d) is damaged", (long long)list.owner, list.kind);
}

/* Appends the chunk under the cursor. One that is not there, or not this list's, was lost. */
static int take(struct adjacency_walk *walk, struct id_list *ids, struct error *error) {
    struct adjacency_key any = adjacency_chunk_key(walk->list.owner, walk->list.kind, 0);
    size_t key_size = 0, size = 0, prefix = any.size - 8, before = ids->count;
    const uint8_t *key = NULL;
    if (store_cursor_valid(walk->cursor)) key = store_cursor_key(walk->cursor, &key_size);
    int code = key ? 0 : store_cursor_error(walk->cursor, error);
    if (code) return code;
    if (key_size != any.size || memcmp(key, any.bytes, prefix)) return adjacency_corrupt(walk->list, error);
    walk->bound = (int64_t)bytes_get_be64(key + prefix);
    const uint8_t *value = store_cursor_value(walk->cursor, &size);
    code = id_list_decode_more(ids, value, size);
    bool beyond = !code && ids->count > before && ids->items[ids->count - 1] > walk->bound;
    return code || beyond ? adjacency_corrupt(walk->list, error) : 0;
}

int adjacency_walk_seek(struct adjacency_walk *walk, int64_t from, struct id_list *ids, struct error *error) {
    struct adjacency_key key = adjacency_chunk_key(walk->list.owner, walk->list.kind, from);
    store_cursor_seek(walk->cursor, key.bytes, key.size);
    return take(walk, ids, error);
}

int adjacency_walk_begin(struct adjacency *adjacency, struct adjacency_walk *walk, struct adjacency_list list,
                         const struct adjacency_root *root, int64_t from, struct id_list *ids, struct error *error) {
    *walk = (struct adjacency_walk){.list = list, .cursor = NULL, .bound = INT64_MAX};
    if (!root->chunked) return id_list_decode_more(ids, root->ids, root->size) ? adjacency_corrupt(list, error) : 0;
    walk->cursor = store_cursor_new(adjacency->store, adjacency->parts[list.partition].family);
    return adjacency_walk_seek(walk, from, ids, error);
}

int adjacency_walk_next(struct adjacency_walk *walk, struct id_list *ids, struct error *error) {
    if (walk->bound == INT64_MAX) return 0;
    store_cursor_next(walk->cursor);
    int code = take(walk, ids, error);
    return code ? code : 1;
}

int adjacency_walk_all(struct adjacency *adjacency, struct adjacency_list list, const struct adjacency_root *root,
                       struct id_list *ids, struct error *error) {
    struct adjacency_walk walk;
    int code = adjacency_walk_begin(adjacency, &walk, list, root, 0, ids, error);
    if (!code)
        while ((code = adjacency_walk_next(&walk, ids, error)) > 0) {}
    store_cursor_free(walk.cursor);
    if (!code && root->chunked && ids->count != root->members) code = adjacency_corrupt(list, error);
    return code;
}
