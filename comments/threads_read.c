/* Reads of the store. */
#include <string.h>

#include "base/bytes.h"
#include "comments/threads_private.h"

enum { FEW = 8 };

static int read_key(struct threads *threads, struct store_family *family, const struct threads_key *key,
                    struct error *error) {
    int known = threads_ahead_get(&threads->ahead, family, key, &threads->value);
    if (known >= 0) return known;
    return store_get(threads->store, family, key->bytes, key->size, &threads->value, error);
}

int threads_subject(struct threads *threads, int32_t partition, const struct event_text *subject,
                    struct subject_state *state, struct error *error) {
    struct comment_subject record;
    struct threads_key key;
    threads_key_start(&key, KIND_SUBJECT, subject);
    int code = read_key(threads, threads->parts[partition].index, &key, error);
    if (code != 1) return code;
    if (event_decode_comment_subject(threads->codec, threads->value.data, threads->value.size, &record, error) ||
        !threads_subject_of(&record, state))
        return threads_damaged(error, "a subject");
    return 1;
}

int threads_read_comment(struct threads *threads, const struct threads_part *part, const struct event_text *subject,
                         int64_t id, struct comment *comment, struct error *error) {
    struct threads_key key;
    threads_key_start(&key, KIND_COMMENT, subject);
    threads_key_number(&key, id);
    int code = read_key(threads, part->index, &key, error);
    if (code != 1) return code;
    if (event_decode_comment(threads->codec, threads->value.data, threads->value.size, comment, error))
        return threads_damaged(error, "a comment");
    bool unknown;
    if (comment->root || map_count(threads->likes) >= THREADS_LIKES_MAX) return 1;
    uint64_t *likes = map_put(threads->likes, (uint64_t)id, &unknown); // it may be taken with more of them soon
    if (unknown) *likes = (uint64_t)comment->likes;
    return 1;
}

int threads_comment(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t id,
                    struct comment *comment, struct error *error) {
    return threads_read_comment(threads, &threads->parts[partition], subject, id, comment, error);
}

int threads_reaction(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t id,
                     int64_t user, struct comment_reaction *reaction, struct error *error) {
    struct threads_key key;
    threads_key_start(&key, KIND_REACTION, subject);
    threads_key_number(&key, id);
    threads_key_number(&key, user);
    int code = read_key(threads, threads->parts[partition].index, &key, error);
    if (code != 1) return code;
    if (event_decode_comment_reaction(threads->codec, threads->value.data, threads->value.size, reaction, error))
        return threads_damaged(error, "a reaction");
    return 1;
}

static int read_text(struct threads *threads, int32_t partition, const struct subject_key *parts,
                     struct comment_text *text, struct error *error) {
    uint8_t key[SUBJECT_KEY_MAX];
    int code = store_get(threads->store, threads->parts[partition].texts, key, subject_key_write(key, parts),
                         &threads->value, error);
    if (code != 1) return code;
    if (event_decode_comment_text(threads->codec, threads->value.data, threads->value.size, text, error))
        return threads_damaged(error, "a text");
    return 1;
}

int threads_text(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t id,
                 struct comment_text *text, struct error *error) {
    const struct subject_key parts = {.subject = subject->data, .size = subject->size, .numbers = 1, .comment = id};
    return read_text(threads, partition, &parts, text, error);
}

int threads_former(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t id,
                   int64_t version, struct comment_text *text, struct error *error) {
    const struct subject_key parts = {
        .subject = subject->data, .size = subject->size, .numbers = 2, .comment = id, .second = version};
    return read_text(threads, partition, &parts, text, error);
}

/* A key of a client, under which the outcome of a command lies. */
static int read_client_key(struct threads *threads, int32_t partition, enum threads_kind kind,
                           const struct event_text *subject, int64_t user, const struct event_text *client, size_t size,
                           struct error *error) {
    struct threads_key key;
    threads_key_start(&key, kind, subject);
    threads_key_number(&key, user);
    threads_key_bytes(&key, client->data, client->size);
    if (kind == KIND_REFUSAL && !threads_refused_has(&threads->parts[partition], key.bytes, key.size)) return 0;
    int code = read_key(threads, threads->parts[partition].index, &key, error);
    if (code == 1 && threads->value.size != size) return threads_damaged(error, "an outcome");
    return code;
}

int threads_key(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t user,
                const struct event_text *key, int64_t *id, struct error *error) {
    int code = read_client_key(threads, partition, KIND_KEY, subject, user, key, 8, error);
    if (code == 1) *id = (int64_t)bytes_get_be64(threads->value.data);
    return code;
}

int threads_rested(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t user,
                   int64_t *rested_at, struct error *error) {
    static const struct event_text NO_KEY = {"", 0};
    int code = read_client_key(threads, partition, KIND_RESTED, subject, user, &NO_KEY, 8, error);
    if (code == 1) *rested_at = (int64_t)bytes_get_be64(threads->value.data);
    return code;
}

int threads_refusal(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t user,
                    const struct event_text *key, int64_t now_ms, enum comment_refusal_reason *reason,
                    struct error *error) {
    int code = read_client_key(threads, partition, KIND_REFUSAL, subject, user, key, 9, error);
    if (code != 1) return code;
    if ((int64_t)bytes_get_be64(threads->value.data) <= now_ms - THREADS_REFUSAL_MS) return 0;
    *reason = (enum comment_refusal_reason)threads->value.data[8];
    return 1;
}

/* ---- lists ---- */

/* Walks over the keys that begin with the first `prefix` bytes of the key, from the key on. */
static int walk(struct threads *threads, const struct threads_part *part, const struct threads_key *from, size_t prefix,
                size_t limit, int64_t *ids, size_t *count, struct threads_place *place, bool *more,
                struct error *error) {
    struct store_cursor *cursor = store_cursor_new(threads->store, part->index);
    bool heat = place->sort == THREADS_HEAT;
    int code = 0;
    *more = false;
    store_cursor_seek(cursor, from->bytes, from->size);
    for (; !code && store_cursor_valid(cursor); store_cursor_next(cursor)) {
        size_t size, value_size;
        const uint8_t *key = store_cursor_key(cursor, &size), *value = store_cursor_value(cursor, &value_size);
        if (size < prefix || memcmp(key, from->bytes, prefix)) break;
        *more = *count == limit;
        if (*more) break;
        if (size != prefix + (heat ? 16 : 4) || (!heat && value_size != 8)) {
            code = threads_damaged(error, "an index of comments");
            break;
        }
        place->begun = true;
        place->at = heat ? ~(int64_t)bytes_get_be64(key + prefix) : (int64_t)bytes_get_be32(key + prefix);
        place->id = heat ? ~(int64_t)bytes_get_be64(key + prefix + 8) : (int64_t)bytes_get_be64(value);
        ids[(*count)++] = place->id;
    }
    if (!code) code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    return code;
}

/* The same over less than FEW floors, which are dense: by their keys, without a cursor, which costs more than it reads here. */
static int find_few(struct threads *threads, const struct threads_part *part, const struct threads_key *from,
                    size_t limit, int64_t *ids, size_t *count, struct threads_place *place, bool *more,
                    struct error *error) {
    uint8_t keys[FEW * THREADS_KEY_MAX] = {0};
    struct store_pin pins[STORE_MANY];
    size_t prefix = from->size - 4, wanted = limit + 1;
    uint32_t floor = bytes_get_be32(from->bytes + prefix);
    for (size_t i = 0; i < wanted; i++) {
        memcpy(keys + i * from->size, from->bytes, prefix);
        bytes_put_be32(keys + i * from->size + prefix, floor + (uint32_t)i);
    }
    int code = store_get_many(threads->store, part->index, keys, from->size, wanted, pins, error);
    for (size_t i = 0; !code && i < wanted; i++) {
        if (!pins[i].handle) continue;
        if (pins[i].size != 8) {
            code = threads_damaged(error, "an index of comments");
        } else if (i == limit) {
            *more = true;
        } else {
            place->begun = true;
            place->at = floor + (int64_t)i;
            place->id = (int64_t)bytes_get_be64(pins[i].data);
            ids[(*count)++] = place->id;
        }
    }
    for (size_t i = 0; i < wanted; i++) store_pin_release(&pins[i]);
    return code;
}

static void floors_start(struct threads_key *key, enum threads_kind kind, const struct event_text *subject,
                         int64_t under) {
    threads_key_start(key, kind, subject);
    threads_key_number(key, under);
}

/* Floors are dense, so the page before a floor begins at a floor that is known. */
static int list_newest(struct threads *threads, int32_t partition, const struct event_text *subject,
                       struct threads_place *place, size_t limit, int64_t *ids, size_t *count, bool *more,
                       struct error *error) {
    struct threads_place up = {.sort = THREADS_FLOOR};
    struct subject_state state;
    struct threads_key key;
    int code = threads_subject(threads, partition, subject, &state, error);
    if (code != 1) return code;
    int64_t top = place->begun && place->at - 1 < state.roots ? place->at - 1 : state.roots;
    int64_t from = top > (int64_t)limit ? top - (int64_t)limit + 1 : 1;
    if (top < 1) return 0;
    floors_start(&key, KIND_FLOOR, subject, 0);
    size_t prefix = key.size;
    threads_key_floor(&key, (int32_t)from);
    code =
        walk(threads, &threads->parts[partition], &key, prefix, (size_t)(top - from + 1), ids, count, &up, more, error);
    if (code) return code;
    for (size_t i = 0; i < *count / 2; i++) {
        int64_t other = ids[*count - 1 - i];
        ids[*count - 1 - i] = ids[i];
        ids[i] = other;
    }
    *more = from > 1;
    *place = (struct threads_place){.sort = THREADS_NEWEST, .begun = true, .at = from};
    return 0;
}

int threads_list(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t under,
                 struct threads_place *place, size_t limit, int64_t *ids, size_t *count, bool *more,
                 struct error *error) {
    struct threads_key key;
    size_t prefix;
    *count = 0;
    *more = false;
    if (place->sort == THREADS_NEWEST)
        return list_newest(threads, partition, subject, place, limit, ids, count, more, error);
    if (place->sort == THREADS_HEAT) {
        threads_key_start(&key, KIND_HEAT, subject);
        prefix = key.size;
        if (place->begun) {
            threads_key_heat(&key, subject, place->at, place->id);
            key.bytes[key.size++] = 0; // the first key behind it
        }
    } else {
        bool dense = place->sort == THREADS_FLOOR;
        floors_start(&key, dense ? KIND_FLOOR : KIND_ANSWER, subject, under);
        prefix = key.size;
        if (place->begun && place->at == INT32_MAX) return 0;
        threads_key_floor(&key, place->begun ? (int32_t)place->at + 1 : 1);
        if (dense && limit < FEW && place->at < INT32_MAX - FEW)
            return find_few(threads, &threads->parts[partition], &key, limit, ids, count, place, more, error);
    }
    return walk(threads, &threads->parts[partition], &key, prefix, limit, ids, count, place, more, error);
}

/* ---- who likes a subject ---- */

int threads_likers(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t *after,
                   size_t limit, int64_t *users, size_t *count, bool *more, struct error *error) {
    struct threads_key from;
    struct comment_reaction reaction;
    int code = 0;
    *count = 0;
    *more = false;
    if (*after == INT64_MAX) return 0;
    threads_key_start(&from, KIND_REACTION, subject);
    threads_key_number(&from, 0);
    size_t prefix = from.size, looked_at = 0;
    threads_key_number(&from, *after + 1);
    struct store_cursor *cursor = store_cursor_new(threads->store, threads->parts[partition].index);
    store_cursor_seek(cursor, from.bytes, from.size);
    for (; !code && store_cursor_valid(cursor); store_cursor_next(cursor)) {
        size_t size, value_size;
        const uint8_t *key = store_cursor_key(cursor, &size), *value = store_cursor_value(cursor, &value_size);
        if (size != prefix + 8 || memcmp(key, from.bytes, prefix) != 0) break;
        *more = looked_at++ == limit;
        if (*more) break;
        *after = (int64_t)bytes_get_be64(key + prefix);
        if (event_decode_comment_reaction(threads->codec, value, value_size, &reaction, error))
            code = threads_damaged(error, "a reaction");
        else if (reaction.likes)
            users[(*count)++] = *after;
    }
    if (!code) code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    return code;
}
