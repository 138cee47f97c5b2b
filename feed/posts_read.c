#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "feed/posts_private.h"

enum { LIVE, DELETED, MODERATED, TAKEN_DOWN, HELD }; /* the first byte of a stored post */

int posts_damaged(struct error *error) { return error_set(error, -EBADMSG, "a stored post is damaged"); }

/* ---- keys and values ---- */

void post_key_write(uint8_t key[POST_KEY_SIZE], int64_t author, int64_t id) {
    bytes_put_be64(key, (uint64_t)author);
    bytes_put_be64(key + POSTS_LONG, (uint64_t)id);
}

bool post_key_read(const void *key, size_t size, int64_t *author, int64_t *id) {
    const uint8_t *at = key;
    if (size != POST_KEY_SIZE) return false;
    int64_t first = (int64_t)bytes_get_be64(at), second = (int64_t)bytes_get_be64(at + POSTS_LONG);
    if (first < 0 || second <= 0) return false;
    *author = first;
    *id = second;
    return true;
}

void post_former_key_write(uint8_t key[POST_FORMER_KEY_SIZE], int64_t author, int64_t id, int64_t version) {
    post_key_write(key, author, id);
    bytes_put_be64(key + POST_KEY_SIZE, (uint64_t)version);
}

/* The newest post of an author comes first. */
void posts_store_key(uint8_t key[POST_KEY_SIZE], int64_t author, int64_t id) { post_key_write(key, author, ~id); }

void posts_id_key(uint8_t key[POSTS_ID_SIZE], int64_t id) {
    key[0] = POSTS_ID_KEY;
    bytes_put_be64(key + 1, (uint64_t)id);
}

void posts_count_key(uint8_t key[POSTS_COUNT_SIZE], int64_t author) {
    key[0] = POSTS_COUNT_KEY;
    bytes_put_be64(key + 1, (uint64_t)author);
}

void posts_deleted_key(uint8_t key[POSTS_DELETED_SIZE], int64_t deleted, int64_t id) {
    key[0] = POSTS_DELETED_KEY;
    post_key_write(key + 1, deleted, id);
}

void posts_keyed_key(struct buffer *out, int64_t author, const void *key, size_t size) {
    uint8_t head[1 + POSTS_LONG] = {POSTS_KEYED_KEY};
    bytes_put_be64(head + 1, (uint64_t)author);
    buffer_clear(out);
    buffer_append(out, head, sizeof head);
    buffer_append(out, key, size);
}

void posts_value_write(struct buffer *out, const struct posts_value *value) {
    bool moderated = value->moderated || value->hidden;
    uint8_t deleted = value->hidden ? TAKEN_DOWN : DELETED, live = value->held ? HELD : moderated ? MODERATED : LIVE;
    uint8_t head[1 + VARINT_MAX] = {value->deleted ? deleted : live}, *end = head + 1;
    if (value->deleted) end = zigzag_put(end, value->deleted);
    if (head[0] == MODERATED || head[0] == HELD) end = zigzag_put(end, 2 * (int64_t)value->moderated + value->hidden);
    buffer_clear(out);
    buffer_append(out, head, (size_t)(end - head));
    if (value->key_size) buffer_append(out, value->key, value->key_size);
}

int posts_value_read(const void *bytes, size_t size, struct posts_value *value, struct error *error) {
    const uint8_t *at = bytes, *end = at + size;
    struct posts_value read = {.deleted = 0};
    if (!size || *at > HELD) return posts_damaged(error);
    uint8_t kind = *at++;
    bool moderated = kind == MODERATED || kind == HELD;
    int64_t number = 0;
    if (kind != LIVE) {
        at = zigzag_get(at, end, &number);
        if (!at || number <= 0 || (moderated && number / 2 > INT32_MAX)) return posts_damaged(error);
    }
    if (moderated)
        read.moderated = (int32_t)(number / 2);
    else
        read.deleted = number;
    read.hidden = kind == TAKEN_DOWN || (moderated && number % 2);
    read.held = kind == HELD;
    read.key = at;
    read.key_size = (size_t)(end - at);
    *value = read;
    return 0;
}

int posts_get_long(struct posts *posts, struct store_family *family, const void *key, size_t size, int64_t *value,
                   struct error *error) {
    struct store_pin pin;
    int found = store_get_pinned(posts->store, family, key, size, &pin, error);
    if (found <= 0) return found;
    bool fine = pin.size == POSTS_LONG;
    if (fine) *value = (int64_t)bytes_get_be64(pin.data);
    store_pin_release(&pin);
    return fine ? 1 : posts_damaged(error);
}

/* ---- one post ---- */

int posts_attached(const struct posts *posts, int32_t partition, struct error *error) {
    if (posts->parts[partition].index.family) return 0;
    return error_set(error, -ESTALE, "the posts of partition %d are not open", (int)partition);
}

/* 1: found, with the pin that the value points to; 0: not. */
static int read_post(struct posts *posts, struct store_family *family, int64_t author, int64_t id,
                     struct posts_value *value, struct store_pin *pin, struct error *error) {
    uint8_t key[POST_KEY_SIZE];
    posts_store_key(key, author, id);
    int found = store_get_pinned(posts->store, family, key, sizeof key, pin, error);
    if (found <= 0) return found;
    int code = posts_value_read(pin->data, pin->size, value, error);
    if (code) store_pin_release(pin);
    return code ? code : 1;
}

/* A post to which an index has led. */
static int find_post(struct posts *posts, struct store_family *family, int64_t author, int64_t id,
                     struct post_found *post, struct error *error) {
    struct store_pin pin;
    struct posts_value value;
    int found = read_post(posts, family, author, id, &value, &pin, error);
    if (found <= 0) return found ? found : posts_damaged(error);
    *post = (struct post_found){.found = true,
                                .hidden = value.hidden,
                                .held = value.held,
                                .moderated = value.moderated,
                                .author = author,
                                .id = id,
                                .deleted = value.deleted};
    store_pin_release(&pin);
    return 0;
}

int posts_find(struct posts *posts, int32_t partition, int64_t id, struct post_found *post, struct error *error) {
    struct store_family *family = posts->parts[partition].index.family;
    uint8_t key[POSTS_ID_SIZE];
    int64_t author = 0;
    int code = posts_attached(posts, partition, error);
    if (code) return code;
    posts_id_key(key, id);
    int found = posts_get_long(posts, family, key, sizeof key, &author, error);
    if (found > 0) return find_post(posts, family, author, id, post, error);
    if (!found) *post = (struct post_found){.found = false};
    return found;
}

int posts_find_key(struct posts *posts, int32_t partition, int64_t author, const void *key, size_t size,
                   struct post_found *post, struct error *error) {
    struct store_family *family = posts->parts[partition].index.family;
    int64_t id = 0;
    int found = posts_attached(posts, partition, error);
    if (found) return found;
    if (size) {
        posts_keyed_key(&posts->key, author, key, size);
        found = posts_get_long(posts, family, posts->key.data, posts->key.size, &id, error);
    }
    if (found > 0) return find_post(posts, family, author, id, post, error);
    if (!found) *post = (struct post_found){.found = false};
    return found;
}

int posts_client_key(struct posts *posts, int32_t partition, int64_t author, int64_t id, struct buffer *key,
                     struct error *error) {
    struct store_pin pin;
    struct posts_value value;
    int found = posts_attached(posts, partition, error);
    if (found) return found;
    found = read_post(posts, posts->parts[partition].index.family, author, id, &value, &pin, error);
    if (found <= 0) return found;
    buffer_clear(key);
    if (value.key_size) buffer_append(key, value.key, value.key_size);
    store_pin_release(&pin);
    return 1;
}

/* ---- an author's posts ---- */

int posts_count(struct posts *posts, int32_t partition, int64_t author, int64_t *count, struct error *error) {
    uint8_t key[POSTS_COUNT_SIZE];
    int64_t found_count = 0;
    int found = posts_attached(posts, partition, error);
    if (found) return found;
    posts_count_key(key, author);
    found = posts_get_long(posts, posts->parts[partition].index.family, key, sizeof key, &found_count, error);
    if (found < 0) return found;
    *count = found_count;
    return 0;
}

struct posts_walk {
    struct posts *posts;
    struct store_cursor *cursor;
    uint8_t from[POST_KEY_SIZE];
};

int posts_walk_new(struct posts *posts, int32_t partition, struct posts_walk **out, struct error *error) {
    int code = posts_attached(posts, partition, error);
    if (code) return code;
    struct posts_walk *walk = MEM_NEW(&(struct posts_walk){
        .posts = posts, .cursor = store_cursor_new(posts->store, posts->parts[partition].index.family)});
    *out = walk;
    return 0;
}

void posts_walk_free(struct posts_walk *walk) {
    if (!walk) return;
    store_cursor_free(walk->cursor);
    free(walk);
}

void posts_walk_to(struct posts_walk *walk, int64_t author, int64_t before) {
    posts_store_key(walk->from, author, before > 0 ? before - 1 : 0);
    store_cursor_seek(walk->cursor, walk->from, sizeof walk->from);
    walk->posts->moves++;
}

enum posts_walked posts_walk_at(const struct posts_walk *walk, int64_t *id) {
    size_t size;
    if (!store_cursor_valid(walk->cursor)) return POSTS_WALK_END;
    const uint8_t *key = store_cursor_key(walk->cursor, &size);
    if (size != POST_KEY_SIZE || memcmp(key, walk->from, POSTS_LONG) != 0) return POSTS_WALK_END;
    *id = (int64_t)~bytes_get_be64(key + POSTS_LONG);
    const uint8_t *bytes = store_cursor_value(walk->cursor, &size);
    struct posts_value value;
    if (size && bytes[0] == LIVE) return POSTS_WALK_LIVE;
    if (posts_value_read(bytes, size, &value, NULL) || value.deleted) return POSTS_WALK_DELETED;
    return value.hidden ? POSTS_WALK_HIDDEN : POSTS_WALK_LIVE;
}

void posts_walk_next(struct posts_walk *walk) {
    store_cursor_next(walk->cursor);
    walk->posts->moves++;
}

int posts_walk_error(const struct posts_walk *walk, struct error *error) {
    return store_cursor_error(walk->cursor, error);
}

uint64_t posts_moves(const struct posts *posts) { return posts->moves; }

int posts_of(struct posts *posts, int32_t partition, int64_t author, int64_t above, int64_t before, bool hidden,
             size_t *pass, int64_t *ids, size_t max, size_t *count, int64_t *more, struct error *error) {
    struct posts_walk *walk;
    enum posts_walked at;
    size_t found = 0;
    int64_t id, lowest = before, others = 0;
    int code = posts_walk_new(posts, partition, &walk, error);
    if (code) return code;
    posts_walk_to(walk, author, before);
    while ((at = posts_walk_at(walk, &id)) != POSTS_WALK_END && id > above) {
        bool listed = at == POSTS_WALK_LIVE || (at == POSTS_WALK_HIDDEN && hidden);
        if (listed ? found == max : !*pass) {
            others = lowest;
            break;
        }
        if (listed)
            ids[found++] = id;
        else
            --*pass;
        lowest = id;
        posts_walk_next(walk);
    }
    code = posts_walk_error(walk, error);
    posts_walk_free(walk);
    if (code) return code;
    *count = found;
    *more = others;
    return 0;
}

int posts_forgettable(struct posts *posts, int32_t partition, int64_t before_ms, struct post_found *found, size_t max,
                      size_t *count, struct error *error) {
    static const uint8_t FROM[] = {POSTS_DELETED_KEY};
    size_t listed = 0, size;
    int code = posts_attached(posts, partition, error);
    if (code) return code;
    struct store_cursor *cursor = store_cursor_new(posts->store, posts->parts[partition].index.family);
    for (store_cursor_seek(cursor, FROM, sizeof FROM); store_cursor_valid(cursor) && listed < max;
         store_cursor_next(cursor)) {
        const uint8_t *key = store_cursor_key(cursor, &size);
        if (size != POSTS_DELETED_SIZE || key[0] != POSTS_DELETED_KEY) break;
        int64_t deleted = (int64_t)bytes_get_be64(key + 1), id = (int64_t)bytes_get_be64(key + 1 + POSTS_LONG);
        if (deleted >= before_ms) break;
        const uint8_t *author = store_cursor_value(cursor, &size);
        if (size != POSTS_LONG) {
            code = posts_damaged(error);
            break;
        }
        found[listed++] =
            (struct post_found){.found = true, .author = (int64_t)bytes_get_be64(author), .id = id, .deleted = deleted};
    }
    if (!code) code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    if (!code) *count = listed;
    return code;
}
