#include "feed/blocks.h"

#include "base/bytes.h"

enum { MARKER_SIZE = 8, KEY_SIZE = 16, SCANNED_MAX = 10000 };
enum { VERSION = 1 /* 0 had no markers */ };

struct table_store *blocks_new(struct store *store, int32_t partitions, table_store_take *take, void *context) {
    return table_store_new(&(struct table_store_options){.store = store,
                                                         .partitions = partitions,
                                                         .families = {"blocks"},
                                                         .topics = 1,
                                                         .numbers = 0xff,
                                                         .version = VERSION,
                                                         .bare = true,
                                                         .take = take,
                                                         .context = context});
}

/* Its first MARKER_SIZE bytes are the key of the user's marker. */
static void write_key(uint8_t key[KEY_SIZE], int64_t user, int64_t other) {
    bytes_put_be64(key, (uint64_t)user);
    bytes_put_be64(key + 8, (uint64_t)other);
}

void blocks_take(struct table_store *blocks, int32_t partition, int64_t offset, int64_t user, int64_t other,
                 bool blocked) {
    uint8_t key[KEY_SIZE];
    if (offset < table_store_next(blocks, partition, 0)) return;
    write_key(key, user, other);
    if (blocked)
        store_batch_put(table_store_batch(blocks), table_store_family(blocks, partition, 0), key, MARKER_SIZE, "", 0);
    table_store_put(blocks, partition, offset, key, sizeof key, blocked ? "" : NULL, 0);
}

int blocks_has(struct table_store *blocks, int32_t partition, int64_t user, int64_t other, bool *blocked,
               struct error *error) {
    uint8_t key[KEY_SIZE];
    write_key(key, user, other);
    int code = table_store_get(blocks, partition, key, sizeof key, NULL, error);
    if (code >= 0) *blocked = code;
    return code < 0 ? code : 0;
}

int blocks_of(struct store *store, struct table_store *blocks, int32_t partition, int64_t user, size_t most,
              struct id_list *others, bool *all, struct error *error) {
    uint8_t key[KEY_SIZE];
    others->count = others->others = others->marked = 0;
    *all = true;
    write_key(key, user, 0);
    int code = table_store_get(blocks, partition, key, MARKER_SIZE, NULL, error);
    if (code <= 0) return code;
    struct store_cursor *cursor = store_cursor_new(store, table_store_family(blocks, partition, 0));
    for (store_cursor_seek(cursor, key, sizeof key); store_cursor_valid(cursor); store_cursor_next(cursor)) {
        size_t size;
        const uint8_t *at = store_cursor_key(cursor, &size);
        if (size != KEY_SIZE || (int64_t)bytes_get_be64(at) != user) break;
        if (others->count == most) {
            *all = false;
            break;
        }
        id_list_reserve(others, others->count + 1);
        others->items[others->count++] = (int64_t)bytes_get_be64(at + 8);
    }
    code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    return code;
}

/* Few users have so many blocks that it is quicker to look each of the list up. */
int blocks_leave_out(struct store *store, struct table_store *blocks, int32_t partition, int64_t user,
                     struct id_list *ids, struct id_list *scratch, struct error *error) {
    size_t kept = 0, at;
    bool all;
    int code = blocks_of(store, blocks, partition, user, SCANNED_MAX, scratch, &all, error);
    if (!code && all && !scratch->count) return 0;
    for (size_t i = 0; !code && i < ids->count; i++) {
        bool blocked = id_list_find(scratch, ids->items[i], &at);
        if (!all && !blocked) code = blocks_has(blocks, partition, user, ids->items[i], &blocked, error);
        if (!blocked) ids->items[kept++] = ids->items[i];
    }
    if (!code) ids->count = kept;
    return code;
}
