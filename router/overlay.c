#include "router/overlay.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

/*   table   | e7 |    | e3 | e9 |    |      by the hash of (lower, other); a power of two, half full at most
 *
 *   users   lower -> { count, first --> e3 <--> e9 }         how many wait, and which
 *
 *   lots    [partition] -> { end 120: e3 e9 } { end 150: e7 } { open: ... }     one a transaction, the oldest first
 *
 * Reading back takes whole lots off the front. An entry that was written again since belongs to its newest lot: the older
 * one finds another lot's number in it, or none at all (its place was freed), and passes it by. */
struct entry {
    int64_t lower, other;
    struct friendship half;
    struct entry *next, *before; /* of the same user; next also of the free ones */
    uint64_t lot;                /* number; 0: free */
};

struct user {
    struct entry *first;
    size_t count;
};

struct lot {
    uint64_t number;
    int64_t end; /* friendships must be read up to here; INT64_MAX while the transaction is open */
    struct entry **entries;
    size_t count, capacity;
    struct lot *next; /* of the same partition */
};

struct lots {
    struct lot *first, *last;
};

enum { BLOCK = 1024 }; /* entries allocated at once */

struct block {
    struct block *next;
    struct entry entries[BLOCK];
};

struct overlay {
    struct entry **table;
    size_t mask, count;
    struct map *users; /* lower -> struct user */
    struct lots *parts;
    int32_t partitions;
    uint64_t numbers;
    struct block *blocks;
    struct entry *free;
};

enum { SMALLEST = 64 };

struct overlay *overlay_new(void) {
    struct overlay *overlay = mem_alloc(sizeof *overlay);
    *overlay = (struct overlay){
        .table = mem_zero(SMALLEST, sizeof(struct entry *)),
        .mask = SMALLEST - 1,
        .users = map_new(),
    };
    return overlay;
}

static void lot_free(struct lot *lot) {
    free(lot->entries);
    free(lot);
}

static void release(struct overlay *overlay) {
    size_t cursor = 0;
    uint64_t key, value;
    while (map_next(overlay->users, &cursor, &key, &value)) free((void *)(uintptr_t)value);
    map_free(overlay->users);
    for (int32_t p = 0; p < overlay->partitions; p++) {
        for (struct lot *lot = overlay->parts[p].first, *next; lot; lot = next) {
            next = lot->next;
            lot_free(lot);
        }
    }
    for (struct block *block = overlay->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(overlay->parts);
    free(overlay->table);
}

void overlay_clear(struct overlay *overlay) {
    struct overlay *fresh = overlay_new();
    fresh->numbers = overlay->numbers;
    release(overlay);
    *overlay = *fresh;
    free(fresh);
}

void overlay_free(struct overlay *overlay) {
    if (!overlay) return;
    release(overlay);
    free(overlay);
}

size_t overlay_count(const struct overlay *overlay) { return overlay->count; }

/* ---- the table ---- */

static size_t home(const struct overlay *overlay, int64_t lower, int64_t other) {
    return (size_t)hash_u64(hash_u64((uint64_t)lower) + (uint64_t)other) & overlay->mask;
}

/* Where the pair's entry is, or would go. */
static size_t place(const struct overlay *overlay, int64_t lower, int64_t other) {
    size_t at = home(overlay, lower, other);
    while (overlay->table[at] && (overlay->table[at]->lower != lower || overlay->table[at]->other != other))
        at = (at + 1) & overlay->mask;
    return at;
}

static void grow(struct overlay *overlay) {
    struct entry **old = overlay->table;
    size_t slots = overlay->mask + 1;
    overlay->table = mem_zero(slots * 2, sizeof(struct entry *));
    overlay->mask = slots * 2 - 1;
    for (size_t i = 0; i < slots; i++)
        if (old[i]) overlay->table[place(overlay, old[i]->lower, old[i]->other)] = old[i];
    free(old);
}

/* Frees a slot; entries of the run behind it that may not stand beyond a hole move up. */
static void take_out(struct overlay *overlay, size_t hole) {
    overlay->table[hole] = NULL;
    for (size_t at = (hole + 1) & overlay->mask; overlay->table[at]; at = (at + 1) & overlay->mask) {
        size_t wanted = home(overlay, overlay->table[at]->lower, overlay->table[at]->other);
        if (((at - wanted) & overlay->mask) < ((at - hole) & overlay->mask)) continue;
        overlay->table[hole] = overlay->table[at];
        overlay->table[at] = NULL;
        hole = at;
    }
}

/* ---- entries ---- */

static struct entry *entry_new(struct overlay *overlay) {
    if (!overlay->free) {
        struct block *block = mem_alloc(sizeof *block);
        block->next = overlay->blocks;
        overlay->blocks = block;
        for (size_t i = 0; i < BLOCK; i++) {
            block->entries[i].lot = 0;
            block->entries[i].next = overlay->free;
            overlay->free = &block->entries[i];
        }
    }
    struct entry *entry = overlay->free;
    overlay->free = entry->next;
    return entry;
}

static void link_to_user(struct overlay *overlay, struct entry *entry) {
    bool created;
    uint64_t *value = map_put(overlay->users, (uint64_t)entry->lower, &created);
    if (created) *value = (uint64_t)(uintptr_t)mem_zero(1, sizeof(struct user));
    struct user *user = (struct user *)(uintptr_t)*value;
    entry->before = NULL;
    entry->next = user->first;
    if (user->first) user->first->before = entry;
    user->first = entry;
    user->count++;
}

static void unlink_from_user(struct overlay *overlay, struct entry *entry) {
    struct user *user = map_pointer(overlay->users, (uint64_t)entry->lower);
    if (entry->before)
        entry->before->next = entry->next;
    else
        user->first = entry->next;
    if (entry->next) entry->next->before = entry->before;
    if (--user->count) return;
    map_remove(overlay->users, (uint64_t)entry->lower, NULL);
    free(user);
}

static void drop(struct overlay *overlay, struct entry *entry) {
    take_out(overlay, place(overlay, entry->lower, entry->other));
    unlink_from_user(overlay, entry);
    entry->lot = 0;
    entry->next = overlay->free;
    overlay->free = entry;
    overlay->count--;
}

const struct friendship *overlay_find(const struct overlay *overlay, int64_t lower, int64_t other) {
    const struct entry *entry = overlay->table[place(overlay, lower, other)];
    return entry ? &entry->half : NULL;
}

size_t overlay_waiting(const struct overlay *overlay, int64_t lower) {
    const struct user *user = map_pointer(overlay->users, (uint64_t)lower);
    return user ? user->count : 0;
}

int64_t overlay_growth(const struct overlay *overlay, int64_t lower, const struct id_list *list) {
    const struct user *user = map_pointer(overlay->users, (uint64_t)lower);
    int64_t growth = 0;
    size_t at;
    for (const struct entry *entry = user ? user->first : NULL; entry; entry = entry->next)
        growth += friendship_made(&entry->half) - id_list_find(list, entry->other, &at);
    return growth;
}

/* ---- lots ---- */

static struct lot *open_lot(struct overlay *overlay, int32_t partition) {
    if (partition >= overlay->partitions) {
        overlay->parts = mem_resize(overlay->parts, (size_t)partition + 1, sizeof *overlay->parts);
        while (overlay->partitions <= partition) overlay->parts[overlay->partitions++] = (struct lots){.first = NULL};
    }
    struct lots *lots = &overlay->parts[partition];
    if (lots->last && lots->last->end == INT64_MAX) return lots->last;
    struct lot *lot = mem_alloc(sizeof *lot);
    *lot = (struct lot){.number = ++overlay->numbers, .end = INT64_MAX};
    if (lots->last)
        lots->last->next = lot;
    else
        lots->first = lot;
    lots->last = lot;
    return lot;
}

void overlay_put(struct overlay *overlay, int32_t partition, int64_t lower, int64_t other,
                 const struct friendship *half) {
    struct lot *lot = open_lot(overlay, partition);
    size_t at = place(overlay, lower, other);
    struct entry *entry = overlay->table[at];
    if (!entry) {
        if (++overlay->count * 2 > overlay->mask) {
            grow(overlay);
            at = place(overlay, lower, other);
        }
        entry = entry_new(overlay);
        *entry = (struct entry){.lower = lower, .other = other};
        overlay->table[at] = entry;
        link_to_user(overlay, entry);
    }
    entry->half = *half;
    if (entry->lot == lot->number) return;
    entry->lot = lot->number;
    if (lot->count == lot->capacity) {
        lot->capacity = lot->capacity ? lot->capacity * 2 : 16;
        lot->entries = mem_resize(lot->entries, lot->capacity, sizeof(struct entry *));
    }
    lot->entries[lot->count++] = entry;
}

void overlay_commit(struct overlay *overlay, const int64_t *ends) {
    for (int32_t p = 0; p < overlay->partitions; p++) {
        struct lot *lot = overlay->parts[p].last;
        if (lot && lot->end == INT64_MAX) lot->end = ends[p];
    }
}

void overlay_read_back(struct overlay *overlay, int32_t partition, int64_t next) {
    if (partition >= overlay->partitions) return;
    struct lots *lots = &overlay->parts[partition];
    while (lots->first && lots->first->end <= next) {
        struct lot *lot = lots->first;
        for (size_t i = 0; i < lot->count; i++)
            if (lot->entries[i]->lot == lot->number) drop(overlay, lot->entries[i]);
        lots->first = lot->next;
        if (!lots->first) lots->last = NULL;
        lot_free(lot);
    }
}
