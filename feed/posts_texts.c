/* The texts of posts: new ones are in one family, and older ones in another, which is compressed harder. */
#include "base/bytes.h"
#include "feed/posts_private.h"

/* version 0: of the newest text. Returns its size. */
static size_t former_key(uint8_t key[POST_FORMER_KEY_SIZE], int64_t author, int64_t id, int64_t version) {
    posts_store_key(key, author, id);
    bytes_put_be64(key + POST_KEY_SIZE, (uint64_t)version);
    return version ? POST_FORMER_KEY_SIZE : POST_KEY_SIZE;
}

/* Former texts are few, and stay in the first family. A tombstone deletes from both families, as a sweep may have left the text in the first one. */
void posts_put_texts(struct posts *posts) {
    for (size_t i = 0; i < posts->texts.count; i++) {
        const struct posts_record *record = &posts->texts.items[i];
        const struct posts_part *part = &posts->parts[record->partition];
        bool cold = record->id < part->cold_below && !record->version;
        uint8_t key[POST_FORMER_KEY_SIZE];
        size_t size = former_key(key, record->author, record->id, record->version);
        if (cold && record->tombstone) store_batch_delete(posts->batch, part->cold, key, size);
        if (record->tombstone)
            store_batch_delete(posts->batch, part->texts.family, key, size);
        else
            store_batch_put(posts->batch, cold ? part->cold : part->texts.family, key, size,
                            posts->bytes.data + record->at, record->size);
    }
}

int posts_former(struct posts *posts, int32_t partition, int64_t author, int64_t id, int64_t version,
                 struct buffer *text, struct error *error) {
    uint8_t key[POST_FORMER_KEY_SIZE];
    int code = posts_attached(posts, partition, error);
    size_t size = former_key(key, author, id, version);
    return code ? code : store_get(posts->store, posts->parts[partition].texts.family, key, size, text, error);
}

int posts_text(struct posts *posts, int32_t partition, int64_t author, int64_t id, struct buffer *text,
               struct error *error) {
    const struct posts_part *part = &posts->parts[partition];
    uint8_t key[POST_KEY_SIZE];
    int found = posts_attached(posts, partition, error);
    if (found) return found;
    posts_store_key(key, author, id);
    if (id < part->cold_below) found = store_get(posts->store, part->cold, key, sizeof key, text, error);
    return found ? found : store_get(posts->store, part->texts.family, key, sizeof key, text, error);
}

/* ---- the sweep ---- */

/* Moves the text of one entry of the index of ids. */
static int move(struct posts *posts, const struct posts_part *part, const struct store_cursor *cursor, int64_t id,
                struct store_batch *batch, struct error *error) {
    uint8_t key[POST_KEY_SIZE];
    size_t size;
    const uint8_t *author = store_cursor_value(cursor, &size);
    if (size != POSTS_LONG) return posts_damaged(error);
    posts_store_key(key, (int64_t)bytes_get_be64(author), id);
    struct store_pin pin;
    int found = store_get_pinned(posts->store, part->texts.family, key, sizeof key, &pin, error);
    if (found <= 0) return found;
    store_batch_put(batch, part->cold, key, sizeof key, pin.data, pin.size);
    store_batch_delete(batch, part->texts.family, key, sizeof key);
    store_pin_release(&pin);
    return 0;
}

/* Gathers the moves of a step, after which the texts of all ids below *to are cold. */
static int gather_moves(struct posts *posts, const struct posts_part *part, int64_t below, size_t max,
                        struct store_batch *batch, int64_t *to, struct error *error) {
    uint8_t from[POSTS_ID_SIZE];
    size_t seen = 0, size;
    int code = 0;
    *to = below;
    posts_id_key(from, part->cold_below);
    struct store_cursor *cursor = store_cursor_new(posts->store, part->index.family);
    for (store_cursor_seek(cursor, from, sizeof from); !code && store_cursor_valid(cursor); store_cursor_next(cursor)) {
        const uint8_t *key = store_cursor_key(cursor, &size);
        if (size != POSTS_ID_SIZE || key[0] != POSTS_ID_KEY) break;
        int64_t id = (int64_t)bytes_get_be64(key + 1);
        if (id >= below) break;
        if (seen++ == max) {
            *to = id;
            break;
        }
        code = move(posts, part, cursor, id, batch, error);
    }
    if (!code) code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    return code;
}

int posts_cool(struct posts *posts, int32_t partition, int64_t below, size_t max, struct error *error) {
    struct posts_part *part = &posts->parts[partition];
    int64_t to;
    int code = posts_attached(posts, partition, error);
    if (code || below <= part->cold_below) return code;
    struct store_batch *batch = store_batch_new();
    code = gather_moves(posts, part, below, max, batch, &to, error);
    posts_put_long(batch, part->texts.family, POSTS_COLD_KEY, to);
    if (!code) code = store_write(posts->store, batch, false, error);
    store_batch_free(batch);
    if (code) return code;
    part->cold_below = part->stored_cold = to;
    return to < below;
}
