#include "feed/inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

void inbox_free(struct inbox *inbox) {
    free(inbox->posts);
    free(inbox->waiting);
    *inbox = (struct inbox){.request = -1};
}

void inbox_clear(struct inbox *inbox) {
    inbox->request = -1;
    inbox->horizon = inbox->rebuilt = inbox->opened_ms = 0;
    inbox->count = inbox->waiting_count = 0;
    inbox->cut = false;
}

static void reserve_posts(struct inbox *inbox, size_t count) {
    if (count <= inbox->capacity) return;
    inbox->posts = mem_resize(inbox->posts, count, sizeof *inbox->posts);
    inbox->capacity = count;
}

static void reserve_waiting(struct inbox *inbox, size_t count) {
    if (count <= inbox->waiting_capacity) return;
    inbox->waiting = mem_resize(inbox->waiting, count, sizeof *inbox->waiting);
    inbox->waiting_capacity = count;
}

static void left_out(struct inbox *inbox, int64_t id) {
    if (id > inbox->horizon) inbox->horizon = id;
    if (id > inbox->rebuilt) inbox->rebuilt = id;
}

/* ---- the records ---- */

static int rising_partitions(const void *a, const void *b) { return *(const int16_t *)a - *(const int16_t *)b; }

void inbox_begin(struct inbox *inbox, int64_t request, int64_t time_ms, const int64_t *wanted, size_t count) {
    inbox_clear(inbox);
    inbox->request = request;
    inbox->opened_ms = time_ms;
    reserve_waiting(inbox, count);
    size_t partitions = 0;
    for (size_t i = 0; i < count; i++)
        if (wanted[i] >= 0 && wanted[i] <= INT16_MAX) inbox->waiting[partitions++] = (int16_t)wanted[i];
    if (partitions) qsort(inbox->waiting, partitions, sizeof *inbox->waiting, rising_partitions);
    for (size_t i = 0; i < partitions; i++)
        if (!i || inbox->waiting[i] != inbox->waiting[i - 1])
            inbox->waiting[inbox->waiting_count++] = inbox->waiting[i];
}

static int falling_posts(const void *a, const void *b) {
    const struct inbox_post *first = a, *second = b;
    return (first->id < second->id) - (first->id > second->id);
}

/* Sorts by falling id. Pushes come in nearly rising order: they are turned round, and few moves are left. */
static void sort_posts(struct inbox_post *posts, size_t count) {
    size_t moves = 0, most = 8 * count;
    if (posts[0].id < posts[count - 1].id) {
        for (size_t i = 0, j = count - 1; i < j; i++, j--) {
            struct inbox_post swapped = posts[i];
            posts[i] = posts[j];
            posts[j] = swapped;
        }
    }
    for (size_t i = 1; i < count && moves <= most; i++) {
        struct inbox_post moved = posts[i];
        size_t at = i;
        for (; at && posts[at - 1].id < moved.id; at--, moves++) posts[at] = posts[at - 1];
        posts[at] = moved;
    }
    if (moves > most) qsort(posts, count, sizeof *posts, falling_posts);
}

/* Both are falling. Room for all of both; returns how many there are. */
static size_t merge_posts(const struct inbox_post *a, size_t a_count, const struct inbox_post *b, size_t b_count,
                          struct inbox_post *out) {
    size_t count = 0, i = 0, j = 0;
    while (i < a_count || j < b_count) {
        const struct inbox_post *next = j == b_count || (i < a_count && a[i].id >= b[j].id) ? &a[i++] : &b[j++];
        if (!count || out[count - 1].id != next->id) out[count++] = *next;
    }
    return count;
}

void inbox_push_many(struct inbox *inbox, struct inbox_post *posts, size_t count, size_t max) {
    if (inbox->request < 0 || !count) return;
    sort_posts(posts, count);
    size_t capacity = inbox->count + count;
    struct inbox_post *merged = mem_alloc(capacity * sizeof *merged);
    inbox->count = merge_posts(inbox->posts, inbox->count, posts, count, merged);
    free(inbox->posts);
    inbox->posts = merged;
    inbox->capacity = capacity;
    if (inbox->count <= max) return;
    left_out(inbox, merged[max].id);
    inbox->count = max;
}

void inbox_backlog(struct inbox *inbox, int64_t author, const int64_t *ids, size_t count, int64_t cut, size_t max) {
    if (inbox->request < 0) return;
    left_out(inbox, cut);
    struct inbox_post *posts = mem_alloc(count * sizeof *posts);
    for (size_t i = 0; i < count; i++) posts[i] = (struct inbox_post){.id = ids[i], .author = author};
    inbox_push_many(inbox, posts, count, max);
    free(posts);
}

void inbox_remove(struct inbox *inbox, int64_t id) {
    size_t at = 0;
    while (at < inbox->count && inbox->posts[at].id > id) at++;
    if (at == inbox->count || inbox->posts[at].id != id) return;
    inbox->count--;
    memmove(&inbox->posts[at], &inbox->posts[at + 1], (inbox->count - at) * sizeof *inbox->posts);
}

static bool stop_waiting(struct inbox *inbox, int32_t partition) {
    size_t at = 0;
    while (at < inbox->waiting_count && inbox->waiting[at] != partition) at++;
    if (at == inbox->waiting_count) return false;
    inbox->waiting_count--;
    memmove(&inbox->waiting[at], &inbox->waiting[at + 1], (inbox->waiting_count - at) * sizeof *inbox->waiting);
    return true;
}

void inbox_answer(struct inbox *inbox, int64_t request, int32_t partition, const struct inbox_post *posts, size_t count,
                  int64_t cut, size_t max) {
    if (inbox->request < 0 || request != inbox->request) return;
    if (cut > inbox->rebuilt) inbox->rebuilt = cut;
    struct inbox_post *copy = mem_alloc(count * sizeof *copy);
    if (count) memcpy(copy, posts, count * sizeof *copy);
    inbox_push_many(inbox, copy, count, max);
    free(copy);
    if (stop_waiting(inbox, partition) && !inbox->waiting_count) inbox->horizon = inbox->rebuilt;
}

void inbox_cut(struct inbox *inbox, size_t newest) {
    if (inbox->count <= newest) return;
    left_out(inbox, inbox->posts[newest].id);
    inbox->count = newest;
    inbox->cut = true;
}

/* ---- as bytes: numbers as varints; partitions and ids as differences from the one before ---- */

enum { VERSION = 1, NUMBERS = 6 };

void inbox_write(const struct inbox *inbox, struct buffer *out) {
    uint8_t *start = buffer_reserve(out, 1 + VARINT_MAX * (NUMBERS + inbox->waiting_count + 2 * inbox->count));
    uint8_t *at = start;
    *at++ = VERSION;
    const int64_t numbers[NUMBERS] = {
        inbox->request,       inbox->opened_ms, inbox->horizon, inbox->rebuilt, (int64_t)inbox->waiting_count,
        (int64_t)inbox->count};
    for (int i = 0; i < NUMBERS; i++) at = zigzag_put(at, numbers[i]);
    int16_t partition = 0;
    for (size_t i = 0; i < inbox->waiting_count; partition = inbox->waiting[i++])
        at = varint_put(at, (uint64_t)(inbox->waiting[i] - partition));
    uint64_t id = 0;
    for (size_t i = 0; i < inbox->count; id = (uint64_t)inbox->posts[i++].id) {
        at = varint_put(at, i ? id - (uint64_t)inbox->posts[i].id : (uint64_t)inbox->posts[i].id);
        at = varint_put(at, (uint64_t)inbox->posts[i].author);
    }
    buffer_commit(out, (size_t)(at - start));
}

static const uint8_t *read_waiting(struct inbox *inbox, const uint8_t *at, const uint8_t *end, size_t count) {
    uint64_t difference;
    int64_t partition = 0;
    reserve_waiting(inbox, count);
    for (size_t i = 0; i < count; i++) {
        at = varint_get(at, end, &difference);
        if (!at || difference > INT16_MAX || (i && !difference)) return NULL;
        partition += (int64_t)difference;
        if (partition > INT16_MAX) return NULL;
        inbox->waiting[inbox->waiting_count++] = (int16_t)partition;
    }
    return at;
}

/* The next post; `above` is the one before it, NULL: there is none. */
static const uint8_t *read_post(const uint8_t *at, const uint8_t *end, const struct inbox_post *above,
                                struct inbox_post *post) {
    uint64_t difference, author;
    at = varint_get(at, end, &difference);
    if (at) at = varint_get(at, end, &author);
    if (!at || (above && !difference)) return NULL;
    post->id = above ? (int64_t)((uint64_t)above->id - difference) : (int64_t)difference;
    post->author = (int64_t)author;
    return above && post->id >= above->id ? NULL : at;
}

static const uint8_t *read_posts(struct inbox *inbox, const uint8_t *at, const uint8_t *end, size_t count,
                                 size_t newest) {
    size_t taken = count < newest ? count : newest;
    reserve_posts(inbox, taken);
    for (size_t i = 0; at && i < taken; i++) {
        at = read_post(at, end, i ? &inbox->posts[i - 1] : NULL, &inbox->posts[i]);
        if (at) inbox->count++;
    }
    if (!at || taken == count) return at;
    struct inbox_post passed;
    if (!read_post(at, end, taken ? &inbox->posts[taken - 1] : NULL, &passed)) return NULL;
    left_out(inbox, passed.id);
    inbox->cut = true;
    return end;
}

int inbox_read(struct inbox *inbox, const void *bytes, size_t size, size_t newest) {
    const uint8_t *at = bytes, *end = at + size;
    int64_t numbers[NUMBERS];
    inbox_clear(inbox);
    at = size && *at == VERSION ? at + 1 : NULL;
    for (int i = 0; at && i < NUMBERS; i++) at = zigzag_get(at, end, &numbers[i]);
    if (at && ((uint64_t)numbers[4] > size || (uint64_t)numbers[5] > size)) at = NULL;
    if (at) at = read_waiting(inbox, at, end, (size_t)numbers[4]);
    if (at) {
        inbox->horizon = numbers[2];
        inbox->rebuilt = numbers[3];
        at = read_posts(inbox, at, end, (size_t)numbers[5], newest);
    }
    if (!at || at != end) {
        inbox_clear(inbox);
        return -EBADMSG;
    }
    inbox->request = numbers[0];
    inbox->opened_ms = numbers[1];
    return 0;
}
