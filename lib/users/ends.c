#include "users/ends.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

enum { SLACK = 64 };

struct end {
    int64_t time, user;
};

/* A heap, soonest first. It may hold ends that were replaced since: the map has the user's own. */
struct ends {
    struct map *times;
    struct end *heap;
    size_t count, capacity;
};

struct ends *ends_new(void) {
    struct ends *ends = mem_alloc(sizeof *ends);
    *ends = (struct ends){.times = map_new()};
    return ends;
}

void ends_free(struct ends *ends) {
    if (!ends) return;
    map_free(ends->times);
    free(ends->heap);
    free(ends);
}

static void sink(struct ends *ends, size_t at) {
    struct end moved = ends->heap[at];
    for (size_t child; (child = 2 * at + 1) < ends->count; at = child) {
        if (child + 1 < ends->count && ends->heap[child + 1].time < ends->heap[child].time) child++;
        if (moved.time <= ends->heap[child].time) break;
        ends->heap[at] = ends->heap[child];
    }
    ends->heap[at] = moved;
}

static void rise(struct ends *ends, size_t at) {
    struct end moved = ends->heap[at];
    for (; at && moved.time < ends->heap[(at - 1) / 2].time; at = (at - 1) / 2)
        ends->heap[at] = ends->heap[(at - 1) / 2];
    ends->heap[at] = moved;
}

static void put(struct ends *ends, struct end end) {
    if (ends->count == ends->capacity) {
        ends->capacity = ends->capacity ? 2 * ends->capacity : SLACK;
        ends->heap = mem_resize(ends->heap, ends->capacity, sizeof *ends->heap);
    }
    ends->heap[ends->count] = end;
    rise(ends, ends->count++);
}

static bool current(const struct ends *ends, struct end end) { return ends_of(ends, end.user) == end.time; }

/* Leaves out what was replaced, when that is most of the heap. */
static void prune(struct ends *ends) {
    if (ends->count <= 2 * map_count(ends->times) + SLACK) return;
    size_t kept = 0;
    for (size_t i = 0; i < ends->count; i++) {
        if (current(ends, ends->heap[i])) ends->heap[kept++] = ends->heap[i];
    }
    ends->count = kept;
    for (size_t i = kept / 2; i-- > 0;) sink(ends, i);
}

void ends_set(struct ends *ends, int64_t user, int64_t time) {
    if (ends_of(ends, user) == time) return;
    if (time) {
        *map_put(ends->times, (uint64_t)user, NULL) = (uint64_t)time;
        put(ends, (struct end){.time = time, .user = user});
    } else {
        map_remove(ends->times, (uint64_t)user, NULL);
    }
    prune(ends);
}

int64_t ends_of(const struct ends *ends, int64_t user) {
    const uint64_t *time = map_find(ends->times, (uint64_t)user);
    return time ? (int64_t)*time : 0;
}

size_t ends_count(const struct ends *ends) { return map_count(ends->times); }

int64_t ends_soonest(const struct ends *ends) { return ends->count ? ends->heap[0].time : INT64_MAX; }

bool ends_take(struct ends *ends, int64_t now, int64_t *user, int64_t *time) {
    while (ends->count && ends->heap[0].time <= now) {
        struct end first = ends->heap[0];
        ends->heap[0] = ends->heap[--ends->count];
        if (ends->count) sink(ends, 0);
        if (!current(ends, first)) continue;
        map_remove(ends->times, (uint64_t)first.user, NULL);
        *user = first.user;
        *time = first.time;
        return true;
    }
    return false;
}
