#include "router/near_list.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum { DISTANCE_DIGITS = 16 };

/* The distance's bits: they read back as the same number, and need no escapes in an address. */
void near_cursor_put(struct near_cursor cursor, char text[NEAR_CURSOR_SIZE]) {
    uint64_t bits;
    memcpy(&bits, &cursor.distance_m, sizeof bits);
    snprintf(text, NEAR_CURSOR_SIZE, "%016" PRIx64 "_%" PRId64, bits, cursor.user);
}

bool near_cursor_read(const char *text, struct near_cursor *cursor) {
    struct near_cursor read;
    if (strspn(text, "0123456789abcdef") != DISTANCE_DIGITS || text[DISTANCE_DIGITS] != '_') return false;
    uint64_t bits = strtoull(text, NULL, 16);
    const char *user = text + DISTANCE_DIGITS + 1;
    memcpy(&read.distance_m, &bits, sizeof bits);
    if (!isfinite(read.distance_m) || read.distance_m < 0) return false;
    if (!text_number(user, strlen(user), INT64_MAX, &read.user)) return false;
    *cursor = read;
    return true;
}

static bool is_behind(const struct near_entry *entry, struct near_cursor cursor) {
    return entry->distance_m > cursor.distance_m ||
           (entry->distance_m >= cursor.distance_m && entry->user > cursor.user);
}

static int compare_near(const void *left, const void *right) {
    const struct near_entry *a = left, *b = right;
    if (a->distance_m < b->distance_m) return -1;
    if (a->distance_m > b->distance_m) return 1;
    return (a->user > b->user) - (a->user < b->user);
}

size_t near_list(const struct near_question *question, struct near_entry *entries) {
    const struct presence_slot *own = presence_find(question->presence, question->user);
    if (!presence_active(own, question->now, question->inactive_ms)) return 0;
    struct geo_circle circle = geo_circle(own->at, question->radius_m);
    const struct presence_slot **found = mem_alloc((question->friend_count + 1) * sizeof *found);
    size_t known = presence_find_many(question->presence, question->friends, question->friend_count, found);
    size_t count = 0, rounding = 0;
    for (size_t i = 0; i < known; i++) {
        const struct presence_slot *slot = found[i];
        if (!presence_active(slot, question->now, question->inactive_ms)) continue;
        bool rounded = rounding_next(question->roundings, &rounding, slot->user) & ROUNDING_THEIRS;
        struct geo_point at = rounding_place(&question->rounded, slot->at, rounded);
        if (!geo_near(&circle, at)) continue;
        struct near_entry entry = {.user = slot->user,
                                   .at = at,
                                   .time = slot->time,
                                   .distance_m = geo_distance(circle.centre, at),
                                   .rounded = rounded};
        if (is_behind(&entry, question->after)) entries[count++] = entry;
    }
    qsort(entries, count, sizeof *entries, compare_near);
    free(found);
    return count;
}
