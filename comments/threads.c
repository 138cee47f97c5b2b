#include "comments/threads.h"

#include <errno.h>
#include <stdio.h>
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

enum { META_SIZE = 8 * (THREADS_STATES + 3), NAME_SIZE = 24, ROWS_BYTES = 32 << 20 };
static const uint8_t META[] = {KIND_META};

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
        .batch = store_batch_new_sorted(),
        .codec = codec_new(),
        .likes = map_new(),
        .rows = threads_rows_new(ROWS_BYTES),
        .parts = mem_zero((size_t)partitions, sizeof *threads->parts),
        .partitions = partitions,
    };
    return threads;
}

void threads_free(struct threads *threads) {
    if (!threads) return;
    store_batch_free(threads->batch);
    codec_free(threads->codec);
    map_free(threads->likes);
    buffer_free(&threads->value);
    threads_ahead_free(&threads->ahead);
    threads_rows_free(threads->rows);
    for (int32_t p = 0; p < threads->partitions; p++) map_free(threads->parts[p].refused);
    free(threads->parts);
    free(threads);
}

static void put_meta(struct threads *threads, struct threads_part *part) {
    uint8_t value[META_SIZE], *at = value;
    for (int s = 0; s < THREADS_STATES; s++, at += 8) bytes_put_be64(at, (uint64_t)part->next[s]);
    bytes_put_be64(at, (uint64_t)part->tick);
    bytes_put_be64(at + 8, (uint64_t)part->touched_ms);
    bytes_put_be64(at + 16, HEAT_FORMULA);
    store_batch_put(threads->batch, part->index, META, sizeof META, value, sizeof value);
    part->moved = false;
}

static void part_of_meta(struct threads_part *part, const uint8_t *at, int64_t *formula) {
    for (int s = 0; s < THREADS_STATES; s++, at += 8) part->next[s] = (int64_t)bytes_get_be64(at);
    part->tick = (int64_t)bytes_get_be64(at);
    part->touched_ms = (int64_t)bytes_get_be64(at + 8);
    *formula = (int64_t)bytes_get_be64(at + 16);
}

static void name_family(char name[NAME_SIZE], const char *start, int32_t partition) {
    snprintf(name, NAME_SIZE, "%s-%d", start, (int)partition);
}

/* Opens the families of a partition. 1: its meta value is there; 0: it is empty. */
static int open_part(struct threads *threads, int32_t partition, struct threads_part *part, int64_t *formula,
                     struct error *error) {
    char name[NAME_SIZE];
    map_free(part->refused);
    *part = (struct threads_part){.tick = -1};
    for (int s = 0; s < THREADS_STATES; s++) part->next[s] = -1;
    name_family(name, "texts", partition);
    int code = store_family(threads->store, name, &part->texts, error);
    name_family(name, "threads", partition);
    if (!code) code = store_family(threads->store, name, &part->index, error);
    if (!code) code = store_get(threads->store, part->index, META, sizeof META, &threads->value, error);
    if (code <= 0) return code;
    if (threads->value.size != META_SIZE) {
        *formula = -1; // an index of another release
        return 1;
    }
    part_of_meta(part, threads->value.data, formula);
    return 1;
}

static void forget_likes(struct threads *threads) {
    map_free(threads->likes);
    threads->likes = map_new();
}

int threads_reset(struct threads *threads, int32_t partition, int64_t now_ms, struct error *error) {
    static const uint8_t FIRST[] = {0}, END[] = {0xff}; // keys begin with a letter or a digit
    struct threads_part *part = &threads->parts[partition];
    forget_likes(threads);
    threads_rows_clear(threads->rows);
    store_batch_clear(threads->batch); // of a batch that was not written, as the store is damaged
    store_batch_delete_range(threads->batch, part->index, FIRST, sizeof FIRST, END, sizeof END);
    store_batch_delete_range(threads->batch, part->texts, FIRST, sizeof FIRST, END, sizeof END);
    part->tick = -1;
    for (int s = 0; s < THREADS_STATES; s++) part->next[s] = -1;
    threads_refused_none(part);
    return threads_touch(threads, partition, now_ms, error);
}

int threads_attach(struct threads *threads, int32_t partition, int64_t now_ms, int64_t since_ms,
                   int64_t next[THREADS_STATES], struct error *error) {
    struct threads_part *part = &threads->parts[partition];
    int64_t formula;
    threads_rows_clear(threads->rows);
    int code = open_part(threads, partition, part, &formula, error);
    int failed = code < 0 ? code : threads_refused_read(threads, part, error);
    if (failed) return failed;
    if (!code)
        code = threads_touch(threads, partition, now_ms, error);
    else if (formula != HEAT_FORMULA || part->touched_ms < since_ms)
        code = threads_reset(threads, partition, now_ms, error);
    if (code < 0) return code;
    for (int s = 0; s < THREADS_STATES; s++) next[s] = part->next[s];
    return 0;
}

int64_t threads_next(const struct threads *threads, int32_t partition, enum threads_state state) {
    return threads->parts[partition].next[state];
}

void threads_lost(struct threads *threads, int32_t partition, enum threads_state state) {
    threads->parts[partition].next[state] = -1;
    threads->parts[partition].moved = true;
}

int64_t threads_last_tick(const struct threads *threads, int32_t partition) { return threads->parts[partition].tick; }

int threads_touch(struct threads *threads, int32_t partition, int64_t now_ms, struct error *error) {
    threads->parts[partition].touched_ms = now_ms;
    threads->parts[partition].moved = true;
    return threads_write(threads, error);
}

int threads_write(struct threads *threads, struct error *error) {
    threads_forget_ahead(threads);
    for (int32_t p = 0; p < threads->partitions; p++)
        if (threads->parts[p].moved) put_meta(threads, &threads->parts[p]);
    int code = store_batch_count(threads->batch) ? store_write(threads->store, threads->batch, false, error) : 0;
    store_batch_clear(threads->batch);
    if (map_count(threads->likes) >= THREADS_LIKES_MAX) forget_likes(threads);
    return code;
}
