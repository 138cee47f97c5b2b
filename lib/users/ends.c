#include "users/ends.h"

#include <stdlib.h>

#include "base/due.h"
#include "base/map.h"
#include "base/mem.h"

enum { SLACK = 64 };

struct ends {
    struct map *times; /* user -> end */
    struct due due;    /* users; it may hold ends that were replaced since */
};

struct ends *ends_new(void) {
    return MEM_NEW(&(struct ends){.times = map_new()});
}

void ends_free(struct ends *ends) {
    if (!ends) return;
    map_free(ends->times);
    due_free(&ends->due);
    free(ends);
}

static bool current(void *context, const struct due_item *end) {
    return ends_of(context, (int64_t)end->what) == end->at;
}

void ends_set(struct ends *ends, int64_t user, int64_t time) {
    if (ends_of(ends, user) == time) return;
    if (time) {
        *map_put(ends->times, (uint64_t)user, NULL) = (uint64_t)time;
        due_put(&ends->due, (struct due_item){.at = time, .what = (uint64_t)user});
    } else {
        map_remove(ends->times, (uint64_t)user, NULL);
    }
    if (ends->due.count > 2 * map_count(ends->times) + SLACK) due_keep(&ends->due, current, ends);
}

int64_t ends_of(const struct ends *ends, int64_t user) {
    const uint64_t *time = map_find(ends->times, (uint64_t)user);
    return time ? (int64_t)*time : 0;
}

size_t ends_count(const struct ends *ends) { return map_count(ends->times); }

int64_t ends_soonest(const struct ends *ends) { return due_soonest(&ends->due); }

bool ends_take(struct ends *ends, int64_t now, int64_t *user, int64_t *time) {
    struct due_item first;
    while (due_take(&ends->due, now, &first)) {
        if (!current(ends, &first)) continue;
        map_remove(ends->times, first.what, NULL);
        *user = (int64_t)first.what;
        *time = first.at;
        return true;
    }
    return false;
}
