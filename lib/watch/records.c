#include "watch/records.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

#define COUNT_MAX (INT64_C(1) << 53)

enum { HEADER = 5, ACK_MAX = 3 * VARINT_MAX + 1, ACK_MIN = 4 };

uint64_t watch_hash(const void *what, size_t size) {
    const uint8_t *at = what;
    uint64_t hash = hash_u64(size);
    for (; size >= 8; size -= 8, at += 8) hash = hash_u64(hash ^ bytes_get_le64(at));
    uint8_t rest[8] = {0};
    if (size > 0) memcpy(rest, at, size);
    return hash_u64(hash ^ bytes_get_le64(rest));
}

uint64_t watch_hash_share(uint64_t what_hash, int32_t route) {
    return hash_u64(what_hash ^ hash_u64((uint64_t)(int64_t)route));
}

/* ---- keys ---- */

size_t watch_key_encode(uint8_t *at, const void *what, size_t what_size, uint64_t watcher) {
    if (what_size > 0) memcpy(at, what, what_size);
    bytes_put_be64(at + what_size, watcher);
    return what_size + 8;
}

int watch_key_decode(const void *key, size_t size, struct watch_key *out) {
    if (size < 8 || size > WATCH_KEY_MAX) return -EBADMSG;
    const uint8_t *at = key;
    *out = (struct watch_key){.watcher = bytes_get_be64(at + size - 8), .what = at, .what_size = size - 8};
    return 0;
}

/* ---- the pieces of values. Readers return where a piece ends, and NULL for a malformed one or for NULL ---- */

static uint8_t *put_header(uint8_t *at, uint32_t id) {
    at[0] = 0;
    bytes_put_be32(at + 1, id);
    return at + HEADER;
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t size) {
    at = zigzag_put(at, (int64_t)size);
    if (size > 0) memcpy(at, bytes, size);
    return at + size;
}

static const uint8_t *get_header(const void *value, size_t size, uint32_t id) {
    const uint8_t *at = value;
    return size >= HEADER && at[0] == 0 && bytes_get_be32(at + 1) == id ? at + HEADER : NULL;
}

static const uint8_t *get_long(const uint8_t *at, const uint8_t *end, int64_t *value) {
    return at ? zigzag_get(at, end, value) : NULL;
}

/* What is counted on from: not so high that it could overflow. */
static const uint8_t *get_count(const uint8_t *at, const uint8_t *end, int64_t *value) {
    at = get_long(at, end, value);
    return at && *value >= 0 && *value <= COUNT_MAX ? at : NULL;
}

static const uint8_t *get_hash(const uint8_t *at, const uint8_t *end, uint64_t *value) {
    int64_t wide = 0;
    at = get_long(at, end, &wide);
    *value = (uint64_t)wide;
    return at;
}

/* An int from `least` to `most`. */
static const uint8_t *get_int(const uint8_t *at, const uint8_t *end, int32_t least, int32_t most, int32_t *value) {
    int64_t wide = 0;
    at = get_long(at, end, &wide);
    if (!at || wide < least || wide > most) return NULL;
    *value = (int32_t)wide;
    return at;
}

static const uint8_t *get_bool(const uint8_t *at, const uint8_t *end, bool *value) {
    if (!at || at >= end || *at > 1) return NULL;
    *value = *at;
    return at + 1;
}

static const uint8_t *get_bytes(const uint8_t *at, const uint8_t *end, const uint8_t **bytes, size_t *size) {
    int64_t count = 0;
    at = get_long(at, end, &count);
    if (!at || count < 0 || count > end - at) return NULL;
    *bytes = at;
    *size = (size_t)count;
    return at + count;
}

static const uint8_t *get_version(const uint8_t *at, const uint8_t *end, struct watch_version *version) {
    return get_hash(get_long(at, end, &version->number), end, &version->hash);
}

static uint8_t *put_version(uint8_t *at, struct watch_version version) {
    return zigzag_put(zigzag_put(at, version.number), (int64_t)version.hash);
}

/* ---- watch records ---- */

void watch_value_encode(struct buffer *to, int32_t route) {
    uint8_t *start = buffer_reserve(to, HEADER + VARINT_MAX);
    uint8_t *at = put_header(start, WATCH_RECORD_ID);
    buffer_commit(to, (size_t)(zigzag_put(at, route) - start));
}

int watch_value_decode(const void *value, size_t size, int32_t *route) {
    const uint8_t *end = (const uint8_t *)value + size;
    const uint8_t *at = get_header(value, size, WATCH_RECORD_ID);
    return at && get_int(at, end, 0, WATCH_ROUTE_MAX, route) == end ? 0 : -EBADMSG;
}

/* ---- roll calls ---- */

void watch_roll_encode(struct buffer *to, const struct watch_roll *roll, const struct watch_ack *acks) {
    uint8_t *start = buffer_reserve(to, HEADER + 6 * VARINT_MAX + 2 + roll->heard * ACK_MAX);
    uint8_t *at = put_header(start, WATCH_ROLL_CALL_ID);
    at = zigzag_put(at, roll->route);
    at = zigzag_put(at, roll->number);
    at = zigzag_put(at, roll->count);
    at = zigzag_put(at, (int64_t)roll->hash);
    *at++ = roll->more;
    if (roll->heard > 0) at = zigzag_put(at, (int64_t)roll->heard);
    for (size_t i = 0; i < roll->heard; i++) {
        at = zigzag_put(at, (int64_t)acks[i].what_hash);
        *at++ = acks[i].known;
        at = put_version(at, acks[i].version);
    }
    at = zigzag_put(at, 0); /* the array's end */
    buffer_commit(to, (size_t)(at - start));
}

static const uint8_t *get_ack(const uint8_t *at, const uint8_t *end, struct watch_ack *ack) {
    return get_version(get_bool(get_hash(at, end, &ack->what_hash), end, &ack->known), end, &ack->version);
}

/* Counts the acknowledgements; -1: malformed, or bytes are left over. */
static int64_t count_acks(const uint8_t *at, const uint8_t *end) {
    struct watch_ack ack;
    int64_t count = 0;
    for (;;) {
        size_t items;
        at = zigzag_get_block(at, end, ACK_MIN, &items);
        if (!at) return -1;
        if (items == 0) return at == end ? count : -1;
        count += (int64_t)items;
        for (; items > 0 && at; items--) at = get_ack(at, end, &ack);
        if (!at) return -1;
    }
}

int watch_roll_decode(const void *value, size_t size, struct watch_roll *out) {
    const uint8_t *end = (const uint8_t *)value + size;
    const uint8_t *at = get_header(value, size, WATCH_ROLL_CALL_ID);
    at = get_int(at, end, 0, WATCH_ROUTE_MAX, &out->route);
    at = get_count(at, end, &out->number);
    at = get_count(at, end, &out->count);
    at = get_hash(at, end, &out->hash);
    at = get_bool(at, end, &out->more);
    int64_t count = at ? count_acks(at, end) : -1;
    if (count < 0) return -EBADMSG;
    out->heard = (size_t)count;
    out->at = at;
    out->end = end;
    out->block = 0;
    return 0;
}

bool watch_roll_next(struct watch_roll *roll, struct watch_ack *ack) {
    if (roll->block == 0 && roll->at) roll->at = zigzag_get_block(roll->at, roll->end, ACK_MIN, &roll->block);
    if (roll->block == 0) {
        roll->at = NULL;
        return false;
    }
    roll->block--;
    roll->at = get_ack(roll->at, roll->end, ack);
    return true;
}

/* ---- deliveries ---- */

void watch_delivery_encode(struct buffer *to, const struct watch_delivery *delivery) {
    uint8_t *start = buffer_reserve(to, HEADER + 9 * VARINT_MAX + delivery->what_size + delivery->content_size);
    uint8_t *at = put_header(start, WATCH_NOTE_ID);
    at = zigzag_put(at, (int64_t)delivery->is);
    at = put_bytes(at, delivery->what, delivery->what_size);
    at = put_version(at, delivery->since);
    at = put_version(at, delivery->version);
    at = zigzag_put(at, (int64_t)delivery->watcher);
    at = zigzag_put(at, delivery->partition);
    at = put_bytes(at, delivery->content, delivery->content_size);
    buffer_commit(to, (size_t)(at - start));
}

int watch_delivery_decode(const void *payload, size_t size, struct watch_delivery *out) {
    const uint8_t *end = (const uint8_t *)payload + size;
    int32_t is = 0;
    const uint8_t *at = get_header(payload, size, WATCH_NOTE_ID);
    at = get_int(at, end, WATCH_NOTE_IS_TOLD, WATCH_NOTE_IS_AGAIN, &is);
    at = get_bytes(at, end, &out->what, &out->what_size);
    at = get_version(at, end, &out->since);
    at = get_version(at, end, &out->version);
    at = get_hash(at, end, &out->watcher);
    at = get_int(at, end, INT32_MIN, INT32_MAX, &out->partition);
    at = get_bytes(at, end, &out->content, &out->content_size);
    if (at != end) return -EBADMSG;
    out->is = (enum watch_note_is)is;
    bool named = out->what_size >= 1 && out->what_size <= WATCH_WHAT_MAX;
    return out->is == WATCH_NOTE_IS_AGAIN || named ? 0 : -EBADMSG;
}
