/* Reading ahead: a slice of commands says what it will look up, and all of it is found together. Keys that are sought in their order lie
 * near each other in memory and on the disk, and the store finds several in one go; one by one they would be all over it. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "comments/threads_private.h"

enum { SMALLEST = 1024 };

static const uint8_t *bytes_at(const struct threads_ahead *ahead, size_t at) { return ahead->bytes.data + at; }

static void clear(struct threads_ahead *ahead) {
    if (!ahead->count) return;
    buffer_clear(&ahead->bytes);
    memset(ahead->table, 0, (ahead->mask + 1) * sizeof *ahead->table);
    ahead->count = ahead->found = 0;
}

void threads_ahead_free(struct threads_ahead *ahead) {
    buffer_free(&ahead->bytes);
    free(ahead->rows);
    free(ahead->sorted);
    free(ahead->table);
}

/* ---- the table ---- */

static uint64_t hash_of(const struct store_family *family, const struct threads_key *key) {
    return hash_bytes(key->bytes, key->size) ^ (uint64_t)(uintptr_t)family;
}

/* Where the key's row is in the table, or would be. */
static size_t place_of(const struct threads_ahead *ahead, const struct store_family *family,
                       const struct threads_key *key, uint64_t hash) {
    size_t at = hash & ahead->mask;
    for (; ahead->table[at]; at = (at + 1) & ahead->mask) {
        const struct ahead_row *row = &ahead->rows[ahead->table[at] - 1];
        if (row->hash == hash && row->family == family && row->key_size == key->size &&
            memcmp(bytes_at(ahead, row->key), key->bytes, key->size) == 0)
            break;
    }
    return at;
}

static void grow(struct threads_ahead *ahead) {
    size_t room = ahead->capacity ? 2 * ahead->capacity : SMALLEST;
    ahead->rows = mem_resize(ahead->rows, room, sizeof *ahead->rows);
    ahead->sorted = mem_resize(ahead->sorted, room, sizeof *ahead->sorted);
    free(ahead->table);
    ahead->table = mem_zero(2 * room, sizeof *ahead->table);
    ahead->capacity = room;
    ahead->mask = 2 * room - 1;
    for (size_t i = 0; i < ahead->count; i++) {
        size_t at = ahead->rows[i].hash & ahead->mask;
        while (ahead->table[at]) at = (at + 1) & ahead->mask;
        ahead->table[at] = (uint32_t)i + 1;
    }
}

static void want_row(struct threads_ahead *ahead, struct store_family *family, const struct threads_key *key) {
    if (ahead->count == ahead->capacity) grow(ahead);
    uint64_t hash = hash_of(family, key);
    size_t at = place_of(ahead, family, key, hash);
    if (ahead->table[at]) return;
    ahead->rows[ahead->count] =
        (struct ahead_row){.family = family, .hash = hash, .key = ahead->bytes.size, .key_size = (uint32_t)key->size};
    ahead->table[at] = (uint32_t)++ahead->count;
    buffer_append(&ahead->bytes, key->bytes, key->size);
}

int threads_ahead_get(const struct threads_ahead *ahead, const struct store_family *family,
                      const struct threads_key *key, struct buffer *value) {
    if (!ahead->count) return -1;
    size_t at = place_of(ahead, family, key, hash_of(family, key));
    const struct ahead_row *row = ahead->table[at] ? &ahead->rows[ahead->table[at] - 1] : NULL;
    if (!row || row->state == AHEAD_WANTED) return -1;
    if (row->state == AHEAD_NONE) return 0;
    buffer_clear(value);
    buffer_append(value, bytes_at(ahead, row->value), row->value_size);
    return 1;
}

/* ---- reading ---- */

static int by_key(const void *a, const void *b, void *context) {
    const struct threads_ahead *ahead = context;
    const struct ahead_row *x = &ahead->rows[*(const uint32_t *)a], *y = &ahead->rows[*(const uint32_t *)b];
    if (x->family != y->family) return x->family < y->family ? -1 : 1;
    if (x->key_size != y->key_size) return x->key_size < y->key_size ? -1 : 1;
    return memcmp(bytes_at(ahead, x->key), bytes_at(ahead, y->key), x->key_size);
}

static bool together(const struct ahead_row *a, const struct ahead_row *b) {
    return a->family == b->family && a->key_size == b->key_size;
}

/* Reads some of one family and one size. */
static int read_some(struct threads *threads, const uint32_t *rows, size_t count, struct error *error) {
    struct threads_ahead *ahead = &threads->ahead;
    uint8_t keys[STORE_MANY * THREADS_KEY_MAX];
    struct store_pin pins[STORE_MANY];
    size_t size = ahead->rows[rows[0]].key_size;
    for (size_t i = 0; i < count; i++) memcpy(keys + i * size, bytes_at(ahead, ahead->rows[rows[i]].key), size);
    int code = store_get_many(threads->store, ahead->rows[rows[0]].family, keys, size, count, pins, error);
    if (code) return code;
    for (size_t i = 0; i < count; i++) {
        struct ahead_row *row = &ahead->rows[rows[i]];
        row->state = pins[i].handle ? AHEAD_THERE : AHEAD_NONE;
        row->value = ahead->bytes.size;
        row->value_size = (uint32_t)pins[i].size;
        if (pins[i].handle) buffer_append(&ahead->bytes, pins[i].data, pins[i].size);
        store_pin_release(&pins[i]);
    }
    return 0;
}

int threads_read_ahead(struct threads *threads, struct error *error) {
    struct threads_ahead *ahead = &threads->ahead;
    uint32_t *sorted = ahead->sorted;
    size_t count = 0;
    int code = 0;
    for (size_t i = ahead->found; i < ahead->count; i++) sorted[count++] = (uint32_t)i;
    if (count) qsort_r(sorted, count, sizeof *sorted, by_key, ahead);
    for (size_t at = 0, some; !code && at < count; at += some) {
        const struct ahead_row *first = &ahead->rows[sorted[at]];
        some = 1;
        while (some < STORE_MANY && at + some < count && together(first, &ahead->rows[sorted[at + some]])) some++;
        code = read_some(threads, sorted + at, some, error);
    }
    ahead->found = ahead->count;
    return code;
}

/* ---- what is wanted ---- */

static void want(struct threads *threads, int32_t partition, const struct threads_key *key) {
    want_row(&threads->ahead, threads->parts[partition].index, key);
}

void threads_want_comment(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t id) {
    struct threads_key key;
    threads_key_start(&key, KIND_COMMENT, subject);
    threads_key_number(&key, id);
    want(threads, partition, &key);
}

void threads_want_reaction(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t id,
                           int64_t user) {
    struct threads_key key;
    threads_key_start(&key, KIND_REACTION, subject);
    threads_key_number(&key, id);
    threads_key_number(&key, user);
    want(threads, partition, &key);
}

void threads_want_key(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t user,
                      const struct event_text *client) {
    struct threads_key key;
    threads_key_start(&key, KIND_KEY, subject);
    threads_key_number(&key, user);
    threads_key_bytes(&key, client->data, client->size);
    want(threads, partition, &key);
}

void threads_want_rested(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t user) {
    struct threads_key key;
    threads_key_start(&key, KIND_RESTED, subject);
    threads_key_number(&key, user);
    want(threads, partition, &key);
}

void threads_forget_ahead(struct threads *threads) { clear(&threads->ahead); }
