#include "ingest/hot.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

enum { LOOKED_AT = 8 /* entries, of which the least read one is forgotten */, NOT_IN_HEAP = -1 };

struct hot_subject {
    uint64_t name;                 /* a hash; 0: free */
    int64_t second;                /* of the newest count */
    uint32_t counts[HOT_WINDOW_S]; /* by second */
    int64_t total;
    int place; /* in the heap */
};

struct hot_subjects {
    int64_t reads;
    struct map *numbers; /* name to its entry's number */
    struct hot_subject entries[HOT_TRACKED];
    size_t count, hand;
    int heap[HOT_TOP]; /* numbers of entries; the one with the lowest total first */
    int size;
};

struct hot_subjects *hot_subjects_new(int64_t reads) {
    struct hot_subjects *hot = mem_zero(1, sizeof *hot);
    hot->reads = reads;
    hot->numbers = map_new();
    return hot;
}

void hot_subjects_free(struct hot_subjects *hot) {
    if (!hot) return;
    map_free(hot->numbers);
    free(hot);
}

static uint64_t name_of(const char *subject) {
    uint64_t hash = hash_bytes(subject, strlen(subject));
    return hash ? hash : 1;
}

/* Forgets the seconds that the window has left behind. */
static void slide(struct hot_subject *entry, int64_t second) {
    if (second - entry->second >= HOT_WINDOW_S) {
        memset(entry->counts, 0, sizeof entry->counts);
        entry->total = 0;
    }
    for (int64_t at = entry->second + 1; entry->total && at <= second; at++) {
        entry->total -= entry->counts[at % HOT_WINDOW_S];
        entry->counts[at % HOT_WINDOW_S] = 0;
    }
    if (second > entry->second) entry->second = second;
}

/* ---- the heap ---- */

static void put_at(struct hot_subjects *hot, int place, int number) {
    hot->heap[place] = number;
    hot->entries[number].place = place;
}

static int64_t total_at(const struct hot_subjects *hot, int place) { return hot->entries[hot->heap[place]].total; }

static void swap(struct hot_subjects *hot, int a, int b) {
    int number = hot->heap[a];
    put_at(hot, a, hot->heap[b]);
    put_at(hot, b, number);
}

static void sift_down(struct hot_subjects *hot, int place) {
    for (int child; (child = 2 * place + 1) < hot->size; place = child) {
        if (child + 1 < hot->size && total_at(hot, child + 1) < total_at(hot, child)) child++;
        if (total_at(hot, place) <= total_at(hot, child)) return;
        swap(hot, place, child);
    }
}

static void sift_up(struct hot_subjects *hot, int place) {
    for (; place && total_at(hot, place) < total_at(hot, (place - 1) / 2); place = (place - 1) / 2)
        swap(hot, place, (place - 1) / 2);
}

static void take_out(struct hot_subjects *hot, int place) {
    hot->entries[hot->heap[place]].place = NOT_IN_HEAP;
    if (place != --hot->size) {
        put_at(hot, place, hot->heap[hot->size]);
        sift_down(hot, place);
        sift_up(hot, place);
    }
}

/* Totals in the heap fall as time passes: this is done before one is compared with them. */
static void slide_heap(struct hot_subjects *hot, int64_t second) {
    for (int i = 0; i < hot->size; i++) slide(&hot->entries[hot->heap[i]], second);
    for (int i = hot->size / 2; i-- > 0;) sift_down(hot, i);
    while (hot->size && total_at(hot, 0) < hot->reads) take_out(hot, 0);
}

static void join_heap(struct hot_subjects *hot, int number, int64_t second) {
    struct hot_subject *entry = &hot->entries[number];
    if (entry->place != NOT_IN_HEAP) {
        sift_down(hot, entry->place);
        return;
    }
    if (entry->total < hot->reads) return;
    if (hot->size == HOT_TOP) slide_heap(hot, second);
    if (hot->size == HOT_TOP && total_at(hot, 0) >= entry->total) return;
    if (hot->size == HOT_TOP) take_out(hot, 0);
    put_at(hot, hot->size++, number);
    sift_up(hot, hot->size - 1);
}

/* ---- entries ---- */

/* A free entry, or the least read one of some. */
static int make_room(struct hot_subjects *hot, int64_t second) {
    if (hot->count < HOT_TRACKED) return (int)hot->count++;
    size_t least = hot->hand;
    for (size_t i = 0; i < LOOKED_AT; i++, hot->hand = (hot->hand + 1) % HOT_TRACKED) {
        slide(&hot->entries[hot->hand], second);
        if (hot->entries[hot->hand].total < hot->entries[least].total) least = hot->hand;
    }
    if (hot->entries[least].place != NOT_IN_HEAP) take_out(hot, hot->entries[least].place);
    map_remove(hot->numbers, hot->entries[least].name, NULL);
    return (int)least;
}

bool hot_subjects_read(struct hot_subjects *hot, const char *subject, int64_t now_ms) {
    uint64_t name = name_of(subject);
    int64_t second = now_ms / 1000;
    uint64_t *known = map_find(hot->numbers, name);
    int number = known ? (int)*known : make_room(hot, second);
    struct hot_subject *entry = &hot->entries[number];
    if (!known) {
        *entry = (struct hot_subject){.name = name, .second = second, .place = NOT_IN_HEAP};
        *map_put(hot->numbers, name, NULL) = (uint64_t)number;
    }
    slide(entry, second);
    entry->counts[second % HOT_WINDOW_S]++;
    entry->total++;
    join_heap(hot, number, second);
    return entry->place != NOT_IN_HEAP && entry->total >= hot->reads;
}

bool hot_subjects_is(struct hot_subjects *hot, const char *subject, int64_t now_ms) {
    const uint64_t *known = map_find(hot->numbers, name_of(subject));
    if (!known) return false;
    struct hot_subject *entry = &hot->entries[*known];
    slide(entry, now_ms / 1000);
    return entry->place != NOT_IN_HEAP && entry->total >= hot->reads;
}
