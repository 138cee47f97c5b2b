#include "router/excess.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

enum { FORGET_MS = 60000 };

enum progress { NOTICED, SENT, ASKED };

struct excess_entry {
    int64_t user, other, since, offset;
    int64_t asked_ms;
    uint64_t ticket;
    int32_t partition;
    enum progress progress;
    size_t place;                         /* in its partition's heap, while NOTICED */
    struct excess_entry *next, *previous; /* of the partition */
    struct excess_entry *next_of_pair;    /* of the same hash of user and other */
};

/*     heap   user 3, offset 90     the root is next: by user, and of a user the newest first
 *             /            \
 *     user 3, offset 70   user 8, offset 95
 */
struct excess_part {
    struct excess_entry *first;
    struct excess_entry **heap;
    size_t noticed, capacity;
};

struct excess {
    struct excess_part *parts;
    int32_t partitions; /* known so far */
    size_t count;
    uint64_t tickets;
    struct map *by_ticket;  /* pointers */
    struct map *by_pair;    /* hash of user and other -> pointer to the first of them */
    struct map *on_the_way; /* user -> how many are sent or asked */
};

struct excess *excess_new(void) {
    return MEM_NEW(&(struct excess){.by_ticket = map_new(), .by_pair = map_new(), .on_the_way = map_new()});
}

void excess_free(struct excess *excess) {
    if (!excess) return;
    for (int32_t p = 0; p < excess->partitions; p++) {
        excess_detach(excess, p);
        free(excess->parts[p].heap);
    }
    free(excess->parts);
    map_free(excess->by_ticket);
    map_free(excess->by_pair);
    map_free(excess->on_the_way);
    free(excess);
}

/* ---- the heap ---- */

static bool before(const struct excess_entry *a, const struct excess_entry *b) {
    return a->user != b->user ? a->user < b->user : a->offset > b->offset;
}

static void place(struct excess_part *part, struct excess_entry *item, size_t at) {
    part->heap[at] = item;
    item->place = at;
}

static void rise(struct excess_part *part, struct excess_entry *item, size_t at) {
    for (; at && before(item, part->heap[(at - 1) / 2]); at = (at - 1) / 2) place(part, part->heap[(at - 1) / 2], at);
    place(part, item, at);
}

static void sink(struct excess_part *part, struct excess_entry *item, size_t at) {
    for (size_t child; (child = 2 * at + 1) < part->noticed; at = child) {
        if (child + 1 < part->noticed && before(part->heap[child + 1], part->heap[child])) child++;
        if (!before(part->heap[child], item)) break;
        place(part, part->heap[child], at);
    }
    place(part, item, at);
}

static void heap_add(struct excess_part *part, struct excess_entry *item) {
    MEM_ROOM(part->heap, part->noticed, part->capacity);
    rise(part, item, part->noticed++);
}

static void heap_remove(struct excess_part *part, const struct excess_entry *item) {
    struct excess_entry *last = part->heap[--part->noticed];
    if (last == item) return;
    size_t at = item->place;
    if (at && before(last, part->heap[(at - 1) / 2]))
        rise(part, last, at);
    else
        sink(part, last, at);
}

/* ---- items ---- */

static void set_progress(struct excess *excess, struct excess_entry *item, enum progress progress) {
    struct excess_part *part = &excess->parts[item->partition];
    bool was = item->progress != NOTICED, is = progress != NOTICED;
    item->progress = progress;
    if (was == is) return;
    if (is) {
        heap_remove(part, item);
        ++*map_put(excess->on_the_way, (uint64_t)item->user, NULL);
        return;
    }
    heap_add(part, item);
    uint64_t *left = map_find(excess->on_the_way, (uint64_t)item->user);
    if (!--*left) map_remove(excess->on_the_way, (uint64_t)item->user, NULL);
}

static uint64_t pair_of(int64_t user, int64_t other) { return hash_fold(hash_fold((uint64_t)user) ^ (uint64_t)other); }

static void unlink_from_pair(struct excess *excess, struct excess_entry *item) {
    uint64_t key = pair_of(item->user, item->other);
    struct excess_entry *first = map_pointer(excess->by_pair, key), **link = &first;
    while (*link != item) link = &(*link)->next_of_pair;
    *link = item->next_of_pair;
    if (first)
        *map_put(excess->by_pair, key, NULL) = (uint64_t)(uintptr_t)first;
    else
        map_remove(excess->by_pair, key, NULL);
}

static void drop(struct excess *excess, struct excess_entry *item) {
    struct excess_part *part = &excess->parts[item->partition];
    set_progress(excess, item, NOTICED);
    heap_remove(part, item);
    unlink_from_pair(excess, item);
    map_remove(excess->by_ticket, item->ticket, NULL);
    if (item->next) item->next->previous = item->previous;
    if (item->previous)
        item->previous->next = item->next;
    else
        part->first = item->next;
    excess->count--;
    free(item);
}

void excess_notice(struct excess *excess, int32_t partition, int64_t user, int64_t other, int64_t since,
                   int64_t offset) {
    uint64_t key = pair_of(user, other);
    struct excess_entry *same = map_pointer(excess->by_pair, key);
    for (const struct excess_entry *item = same; item; item = item->next_of_pair)
        if (item->user == user && item->other == other && item->since == since) return;
    if (partition >= excess->partitions) {
        excess->parts = mem_resize(excess->parts, (size_t)partition + 1, sizeof *excess->parts);
        while (excess->partitions <= partition)
            excess->parts[excess->partitions++] = (struct excess_part){.first = NULL};
    }
    struct excess_part *part = &excess->parts[partition];
    excess->tickets++;
    struct excess_entry *item = MEM_NEW(&(struct excess_entry){
        .user = user,
        .other = other,
        .since = since,
        .offset = offset,
        .ticket = excess->tickets,
        .partition = partition,
        .progress = NOTICED,
        .next = part->first,
        .next_of_pair = same,
    });
    if (part->first) part->first->previous = item;
    part->first = item;
    *map_put(excess->by_pair, key, NULL) = (uint64_t)(uintptr_t)item;
    *map_put(excess->by_ticket, item->ticket, NULL) = (uint64_t)(uintptr_t)item;
    heap_add(part, item);
    excess->count++;
}

bool excess_next(const struct excess *excess, int32_t partition, struct excess_item *out) {
    const struct excess_part *part = partition < excess->partitions ? &excess->parts[partition] : NULL;
    if (!part || !part->noticed) return false;
    const struct excess_entry *item = part->heap[0];
    *out = (struct excess_item){.user = item->user, .other = item->other, .since = item->since, .ticket = item->ticket};
    return true;
}

static struct excess_entry *find(const struct excess *excess, uint64_t ticket) {
    return map_pointer(excess->by_ticket, ticket);
}

void excess_drop(struct excess *excess, uint64_t ticket) {
    struct excess_entry *item = find(excess, ticket);
    if (item) drop(excess, item);
}

void excess_sent(struct excess *excess, uint64_t ticket) {
    struct excess_entry *item = find(excess, ticket);
    if (item) set_progress(excess, item, SENT);
}

void excess_acknowledge(struct excess *excess, uint64_t ticket, bool stored, int64_t now_ms) {
    struct excess_entry *item = find(excess, ticket);
    if (!item || item->progress != SENT) return; // parted, detached, or somebody else's meanwhile
    set_progress(excess, item, stored ? ASKED : NOTICED);
    item->asked_ms = now_ms;
}

void excess_parted(struct excess *excess, int64_t user, int64_t other) {
    struct excess_entry *item = map_pointer(excess->by_pair, pair_of(user, other));
    while (item) {
        struct excess_entry *next = item->next_of_pair;
        if (item->user == user && item->other == other) drop(excess, item);
        item = next;
    }
}

void excess_expire(struct excess *excess, int64_t now_ms) {
    for (int32_t p = 0; p < excess->partitions; p++) {
        struct excess_entry *next;
        for (struct excess_entry *item = excess->parts[p].first; item; item = next) {
            next = item->next;
            if (item->progress == ASKED && now_ms - item->asked_ms >= FORGET_MS) drop(excess, item);
        }
    }
}

void excess_detach(struct excess *excess, int32_t partition) {
    if (partition >= excess->partitions) return;
    while (excess->parts[partition].first) drop(excess, excess->parts[partition].first);
}

void excess_renotice(struct excess *excess, int32_t partition) {
    if (partition >= excess->partitions) return;
    for (struct excess_entry *item = excess->parts[partition].first; item; item = item->next)
        set_progress(excess, item, NOTICED);
}

size_t excess_on_the_way(const struct excess *excess, int64_t user) {
    const uint64_t *count = map_find(excess->on_the_way, (uint64_t)user);
    return count ? (size_t)*count : 0;
}

int64_t excess_hold(const struct excess *excess, int32_t partition) {
    int64_t hold = INT64_MAX;
    if (partition >= excess->partitions) return hold;
    for (const struct excess_entry *item = excess->parts[partition].first; item; item = item->next)
        if (item->progress != ASKED && item->offset < hold) hold = item->offset;
    return hold;
}

size_t excess_count(const struct excess *excess) { return excess->count; }
