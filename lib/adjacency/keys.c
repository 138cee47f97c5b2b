#include <string.h>

#include "adjacency/private.h"
#include "base/bytes.h"

enum { KIND = 0x80, CHUNK = 0x80, MARK = 0xc0, STAMPS = 0xfe, MARKS_SHIFT = 32 };

static void add_number(struct adjacency_key *key, int64_t number) {
    bytes_put_be64(key->bytes + key->size, (uint64_t)number);
    key->size += 8;
}

static void add_day(struct adjacency_key *key, int64_t day) {
    bytes_put_be32(key->bytes + key->size, (uint32_t)day);
    key->size += 4;
}

/* P. Ids begin with a bit that is 0, so that no kind's keys are among those of kind 0. */
static void add_list(struct adjacency_key *key, int64_t owner, uint8_t kind) {
    add_number(key, owner);
    if (kind) key->bytes[key->size++] = KIND | kind;
}

struct adjacency_key adjacency_root_key(int64_t owner, uint8_t kind) {
    struct adjacency_key key = {.size = 0};
    add_list(&key, owner, kind);
    return key;
}

struct adjacency_key adjacency_aside_key(int64_t owner, uint8_t kind, int64_t id) {
    struct adjacency_key key = adjacency_root_key(owner, kind);
    add_number(&key, id);
    return key;
}

struct adjacency_key adjacency_chunk_key(int64_t owner, uint8_t kind, int64_t bound) {
    struct adjacency_key key = adjacency_root_key(owner, kind);
    key.bytes[key.size++] = CHUNK;
    add_number(&key, bound);
    return key;
}

/* Behind the chunks, whose bounds begin with a bit that is 0, and before the lists of other kinds. */
struct adjacency_key adjacency_mark_key(int64_t owner, uint8_t kind, int64_t id) {
    struct adjacency_key key = adjacency_root_key(owner, kind);
    key.bytes[key.size++] = CHUNK;
    key.bytes[key.size++] = MARK;
    add_number(&key, id);
    return key;
}

struct adjacency_key adjacency_built_day(int64_t day) {
    struct adjacency_key key = {.bytes = {STAMPS}, .size = 1};
    add_day(&key, day);
    return key;
}

struct adjacency_key adjacency_late_day(int32_t partition, int64_t day) {
    struct adjacency_key key = {.size = 4};
    bytes_put_be32(key.bytes, (uint32_t)partition);
    add_day(&key, day);
    return key;
}

struct adjacency_key adjacency_built_key(int64_t day, int64_t owner, uint8_t kind, int64_t id) {
    struct adjacency_key key = adjacency_built_day(day);
    add_list(&key, owner, kind);
    add_number(&key, id);
    return key;
}

struct adjacency_key adjacency_late_key(int32_t partition, int64_t day, int64_t owner, uint8_t kind, int64_t id) {
    struct adjacency_key key = adjacency_late_day(partition, day);
    add_list(&key, owner, kind);
    add_number(&key, id);
    return key;
}

void adjacency_aside_encode(uint8_t value[ADJACENCY_ASIDE_SIZE], const struct adjacency_update *update) {
    value[0] = update->tag;
    bytes_put_be64(value + 1, (uint64_t)update->stamp);
}

bool adjacency_aside_decode(const uint8_t *value, size_t size, struct adjacency_entry *entry) {
    if (size != ADJACENCY_ASIDE_SIZE || !value[0] || value[0] >= ADJACENCY_MEMBER) return false;
    entry->tag = value[0];
    entry->stamp = (int64_t)bytes_get_be64(value + 1);
    entry->stamped = true;
    return true;
}

void adjacency_meta_encode(const struct adjacency *adjacency, uint8_t value[ADJACENCY_META_SIZE], int64_t next,
                           int64_t now_ms) {
    value[0] = ADJACENCY_META_VERSION;
    bytes_put_be32(value + 1, (uint32_t)adjacency->options.partitions);
    bytes_put_be64(value + 5, (uint64_t)next);
    bytes_put_be64(value + 13, (uint64_t)now_ms);
}

static void add_varint(struct buffer *out, uint64_t number) {
    uint8_t *begin = buffer_reserve(out, VARINT_MAX);
    buffer_commit(out, (size_t)(varint_put(begin, number) - begin));
}

static void add_beside(struct buffer *out, size_t asides, size_t marks) {
    add_varint(out, (uint64_t)marks << MARKS_SHIFT | asides);
}

static void set_beside(struct adjacency_root *root, uint64_t beside) {
    root->asides = (uint32_t)beside;
    root->marks = (size_t)(beside >> MARKS_SHIFT);
}

void adjacency_root_encode(struct buffer *out, const struct id_list *list) {
    add_beside(out, list->others, list->marked);
    id_list_encode(out, list->items, list->count);
}

/* 0 in two bytes, as no encoder writes it. */
static const uint8_t CHUNKED[] = {0x80, 0x00}, CUT = 0x80;

void adjacency_root_encode_chunked(struct buffer *out, size_t asides, size_t marks, size_t members) {
    buffer_append(out, CHUNKED, sizeof CHUNKED);
    add_beside(out, asides, marks);
    add_varint(out, members);
    buffer_byte(out, CUT);
}

static bool decode_chunked(const uint8_t *at, const uint8_t *end, struct adjacency_root *root) {
    uint64_t beside, members;
    at = varint_get(at + sizeof CHUNKED, end, &beside);
    if (at) at = varint_get(at, end, &members);
    if (!at || end - at != 1 || *at != CUT) return false;
    *root = (struct adjacency_root){.chunked = true, .members = (size_t)members};
    set_beside(root, beside);
    return true;
}

bool adjacency_root_decode(const struct store_pin *pin, struct adjacency_root *root) {
    static const uint8_t NOBODY[1];
    *root = (struct adjacency_root){.chunked = false, .ids = NOBODY};
    if (!pin->handle) return true;
    const uint8_t *end = pin->data + pin->size;
    if (pin->size >= sizeof CHUNKED && !memcmp(pin->data, CHUNKED, sizeof CHUNKED))
        return decode_chunked(pin->data, end, root);
    uint64_t beside;
    root->ids = varint_get(pin->data, end, &beside);
    if (!root->ids) return false;
    set_beside(root, beside);
    root->size = (size_t)(end - root->ids);
    return true;
}
