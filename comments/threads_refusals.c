/* Refusals: which ones there may be, and those that are forgotten. Most keys were never refused, and each command asks: so the keys of
 * the last hour's refusals are in memory, too, and a look-up that would find nothing is spared. */
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "comments/threads_private.h"

enum {
    FORGET_MANY = 1000,
    REFUSED_MAX = 32768 /* in memory, of a partition: 1 MB */,
    TIME_SIZE = 9 /* the kind, and the time */
};

/* ---- those that there may be ---- */

void threads_refused_none(struct threads_part *part) {
    map_free(part->refused);
    part->refused = map_new();
}

/* With too many, none is known until all are forgotten. */
void threads_refused_put(struct threads_part *part, const void *key, size_t size, int64_t time_ms) {
    if (!part->refused) return;
    uint64_t *newest = map_put(part->refused, hash_murmur2(key, size), NULL);
    if ((int64_t)*newest < time_ms) *newest = (uint64_t)time_ms;
    if (map_count(part->refused) <= REFUSED_MAX) return;
    map_free(part->refused);
    part->refused = NULL;
}

bool threads_refused_has(const struct threads_part *part, const void *key, size_t size) {
    return !part->refused || map_find(part->refused, hash_murmur2(key, size));
}

/* Two keys may have the same hash: the later refusal keeps it. */
static void forget_key(struct threads_part *part, const void *key, size_t size, int64_t time_ms) {
    uint64_t hash = hash_murmur2(key, size);
    const uint64_t *newest = part->refused ? map_find(part->refused, hash) : NULL;
    if (newest && (int64_t)*newest <= time_ms) map_remove(part->refused, hash, NULL);
}

/* A cursor on the first refusal of that time or later. */
static struct store_cursor *cursor_from(struct threads *threads, const struct threads_part *part, int64_t time_ms) {
    struct store_cursor *cursor = store_cursor_new(threads->store, part->index);
    struct threads_key first = {.bytes = {KIND_REFUSAL_TIME}, .size = 1};
    threads_key_number(&first, time_ms);
    store_cursor_seek(cursor, first.bytes, first.size);
    return cursor;
}

/* The key of the refusal's time under the cursor; NULL: there is no more refusal. */
static const uint8_t *refusal_at(const struct store_cursor *cursor, size_t *size) {
    if (!store_cursor_valid(cursor)) return NULL;
    const uint8_t *key = store_cursor_key(cursor, size);
    return *size >= TIME_SIZE && key[0] == KIND_REFUSAL_TIME ? key : NULL;
}

int threads_refused_read(struct threads *threads, struct threads_part *part, struct error *error) {
    struct store_cursor *cursor = cursor_from(threads, part, 0);
    const uint8_t *key;
    size_t size;
    threads_refused_none(part);
    for (; part->refused && (key = refusal_at(cursor, &size)); store_cursor_next(cursor))
        threads_refused_put(part, key + TIME_SIZE, size - TIME_SIZE, (int64_t)bytes_get_be64(key + 1));
    int code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    return code;
}

/* ---- those that are forgotten ---- */

/* The same key may have been refused again since. */
static int forget_one(struct threads *threads, struct threads_part *part, const uint8_t *key, size_t size,
                      struct error *error) {
    const uint8_t *refused = key + TIME_SIZE;
    int code = store_get(threads->store, part->index, refused, size - TIME_SIZE, &threads->value, error);
    if (code < 0) return code;
    if (code && threads->value.size >= 8 && memcmp(threads->value.data, key + 1, 8) == 0)
        store_batch_delete(threads->batch, part->index, refused, size - TIME_SIZE);
    forget_key(part, refused, size - TIME_SIZE, (int64_t)bytes_get_be64(key + 1));
    store_batch_delete(threads->batch, part->index, key, size);
    return 0;
}

int threads_forget(void *store, int32_t partition, int64_t now_ms, struct error *error) {
    struct threads *threads = store;
    struct threads_part *part = &threads->parts[partition];
    struct store_cursor *cursor = cursor_from(threads, part, part->refusals_ms);
    int64_t until_ms = now_ms - THREADS_REFUSAL_MS, at_ms = until_ms;
    const uint8_t *key;
    size_t size;
    int code = 0;
    for (int i = 0; !code && (key = refusal_at(cursor, &size)); i++, store_cursor_next(cursor)) {
        at_ms = (int64_t)bytes_get_be64(key + 1);
        if (at_ms > until_ms || i == FORGET_MANY) break;
        code = forget_one(threads, part, key, size, error);
        at_ms = until_ms;
    }
    if (!code) code = store_cursor_error(cursor, error);
    if (!code && at_ms > part->refusals_ms) part->refusals_ms = at_ms;
    if (!code && !part->refused && !refusal_at(cursor, &size)) threads_refused_none(part);
    store_cursor_free(cursor);
    return code ? code : threads_write(threads, error);
}
