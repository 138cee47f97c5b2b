#include "comments/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "comments/heat.h"
#include "comments/threads_private.h"
#include "event/topics.h"

const struct topic *const THREADS_TOPICS[THREADS_STATES] = {
    [THREADS_COMMENTS] = &TOPIC_COMMENTS,
    [THREADS_TEXTS] = &TOPIC_COMMENT_TEXTS,
    [THREADS_REACTIONS] = &TOPIC_REACTIONS,
    [THREADS_REFUSALS] = &TOPIC_COMMENT_REFUSALS,
};

enum { ROWS_BYTES = 32 << 20 };

/* ---- keys ---- */

void threads_key_bytes(struct threads_key *key, const void *bytes, size_t size) {
    memcpy(key->bytes + key->size, bytes, size);
    key->size += size;
}

void threads_key_number(struct threads_key *key, int64_t number) {
    bytes_put_be64(key->bytes + key->size, (uint64_t)number);
    key->size += 8;
}

void threads_key_floor(struct threads_key *key, int32_t floor) {
    bytes_put_be32(key->bytes + key->size, (uint32_t)floor);
    key->size += 4;
}

void threads_key_start(struct threads_key *key, enum threads_kind kind, const struct event_text *subject) {
    key->bytes[0] = (uint8_t)kind;
    key->size = 1;
    threads_key_bytes(key, subject->data, subject->size);
    if (kind != KIND_SUBJECT) key->bytes[key->size++] = 0;
}

/* Of two hot comments the younger one goes first. */
void threads_key_heat(struct threads_key *key, const struct event_text *subject, int64_t heat, int64_t id) {
    threads_key_start(key, KIND_HEAT, subject);
    threads_key_number(key, ~heat);
    threads_key_number(key, ~id);
}

int threads_damaged(struct error *error, const char *what) { return error_set(error, -EBADMSG, "%s is damaged", what); }

/* ---- partitions ---- */

struct threads *threads_new(struct store *store, int32_t partitions) {
    struct threads *threads = mem_alloc(sizeof *threads);
    *threads = (struct threads){
        .store = store,
        .table = table_store_new(&(struct table_store_options){.store = store,
                                                               .partitions = partitions,
                                                               .families = {"threads", "texts"},
                                                               .topics = THREADS_STATES,
                                                               .numbers = KIND_NUMBERS,
                                                               .version = THREADS_INDEXES,
                                                               .sorted = true}),
        .codec = codec_new(),
        .likes = map_new(),
        .rows = threads_rows_new(ROWS_BYTES),
        .parts = mem_zero((size_t)partitions, sizeof *threads->parts),
        .partitions = partitions,
    };
    threads->batch = table_store_batch(threads->table);
    return threads;
}

void threads_free(struct threads *threads) {
    if (!threads) return;
    table_store_free(threads->table);
    codec_free(threads->codec);
    map_free(threads->likes);
    buffer_free(&threads->value);
    threads_ahead_free(&threads->ahead);
    threads_rows_free(threads->rows);
    for (int32_t p = 0; p < threads->partitions; p++) map_free(threads->parts[p].refused);
    free(threads->parts);
    free(threads);
}

static void forget_likes(struct threads *threads) {
    map_free(threads->likes);
    threads->likes = map_new();
}

int threads_reset(void *store, int32_t partition, int64_t now_ms, struct error *error) {
    struct threads *threads = store;
    forget_likes(threads);
    threads_rows_clear(threads->rows);
    threads_forget_ahead(threads);
    threads_refused_none(&threads->parts[partition]);
    return table_store_reset(threads->table, partition, now_ms, error);
}

int threads_open(void *store, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error) {
    struct threads *threads = store;
    struct threads_part *part = &threads->parts[partition];
    forget_likes(threads);
    threads_rows_clear(threads->rows);
    threads_forget_ahead(threads);
    int code = table_store_open(threads->table, partition, now_ms, since_ms, error);
    if (code) return code;
    part->index = table_store_family(threads->table, partition, 0);
    part->texts = table_store_family(threads->table, partition, 1);
    part->refusals_ms = 0;
    return threads_refused_read(threads, part, error);
}

int64_t threads_next(const void *store, int32_t partition, size_t topic) {
    return table_store_next(((const struct threads *)store)->table, partition, topic);
}

bool threads_lost(void *store, int32_t partition, size_t topic) {
    table_store_pass(((struct threads *)store)->table, partition, topic, -1);
    return topic == THREADS_REFUSALS;
}

int64_t threads_last_tick(const struct threads *threads, int32_t partition) {
    return table_store_mark(threads->table, partition);
}

int threads_touch(void *store, int32_t partition, int64_t now_ms, struct error *error) {
    table_store_touch(((struct threads *)store)->table, partition, now_ms);
    return 0;
}

int threads_write(void *store, struct error *error) {
    struct threads *threads = store;
    threads_forget_ahead(threads);
    int code = table_store_write(threads->table, error);
    if (map_count(threads->likes) >= THREADS_LIKES_MAX) forget_likes(threads);
    return code;
}
