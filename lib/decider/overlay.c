#include "decider/overlay.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

/*   table   | e7 |    | e3 | e9 |    |      by the hash of the key; a power of two, half full at most
 *
 *   groups  group -> { count, first --> e3 <--> e9 }         how many wait, and which
 *
 *   rounds  [partition] -> { end 120: e3 e9 } { end 150: e7 } { open: ... }     one a transaction, the oldest first
 *
 * Reading back takes whole rounds off the front. An entry that was written again since belongs to its newest round: the older
 * one finds another round's number in it, or none at all (its place was freed), and passes it by. */
struct unread {
    struct unread *next, *before; /* of the same group; next also of the free ones */
    uint64_t group, hash;
    uint64_t round; /* number; 0: free */
    uint32_t key_size, value_size;
    uint8_t value[] __attribute__((aligned(8))); /* value_max rounded up to 8, then the key */
};

struct unread_group {
    struct unread *first;
    size_t count;
};

struct round {
    uint64_t number;
    int64_t end; /* the topic must be read up to here; INT64_MAX while the transaction is open */
    struct unread **entries;
    size_t count, capacity;
    struct round *next; /* of the same partition */
};

struct rounds {
    struct round *first, *last;
};

enum { BLOCK = 1024 }; /* entries allocated at once */

struct block {
    struct block *next;
    uint8_t entries[] __attribute__((aligned(8)));
};

/* Most keys that are looked up are not there: the hash beside the pointer says so without the entry, which lies elsewhere in memory. */
struct overlay_slot {
    struct unread *entry; /* NULL: free */
    uint64_t hash;
};

struct overlay {
    size_t key_max, value_max, key_at, entry_size;
    struct overlay_slot *table;
    size_t mask, count;
    struct map *groups; /* group -> struct unread_group */
    struct rounds *parts;
    int32_t partitions;
    uint64_t numbers;
    struct block *blocks;
    struct unread *free;
};

enum { SMALLEST = 64 };

static size_t rounded(size_t size) { return (size + 7) & ~(size_t)7; }

struct overlay *overlay_new(size_t key_max, size_t value_max) {
    return MEM_NEW(&(struct overlay){
        .key_max = key_max,
        .value_max = value_max,
        .key_at = rounded(value_max),
        .entry_size = sizeof(struct unread) + rounded(value_max) + rounded(key_max),
        .table = mem_zero(SMALLEST, sizeof(struct overlay_slot)),
        .mask = SMALLEST - 1,
        .groups = map_new(),
    });
}

static void round_free(struct round *round) {
    free(round->entries);
    free(round);
}

static void release(struct overlay *overlay) {
    size_t cursor = 0;
    uint64_t key, value;
    while (map_next(overlay->groups, &cursor, &key, &value)) free((void *)(uintptr_t)value);
    map_free(overlay->groups);
    for (int32_t p = 0; p < overlay->partitions; p++) {
        for (struct round *round = overlay->parts[p].first, *next; round; round = next) {
            next = round->next;
            round_free(round);
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
    struct overlay *fresh = overlay_new(overlay->key_max, overlay->value_max);
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

static const uint8_t *key_of(const struct overlay *overlay, const struct unread *entry) {
    return entry->value + overlay->key_at;
}

static bool is_key(const struct overlay *overlay, const struct overlay_slot *slot, uint64_t hash, const void *key,
                   size_t size) {
    return slot->hash == hash && slot->entry->key_size == size && !memcmp(key_of(overlay, slot->entry), key, size);
}

/* Where the key's entry is, or would go. */
static size_t place(const struct overlay *overlay, uint64_t hash, const void *key, size_t size) {
    size_t at = hash & overlay->mask;
    while (overlay->table[at].entry && !is_key(overlay, &overlay->table[at], hash, key, size))
        at = (at + 1) & overlay->mask;
    return at;
}

static void grow(struct overlay *overlay) {
    struct overlay_slot *old = overlay->table;
    size_t slots = overlay->mask + 1;
    overlay->table = mem_zero(slots * 2, sizeof *overlay->table);
    overlay->mask = slots * 2 - 1;
    for (size_t i = 0; i < slots; i++) {
        if (!old[i].entry) continue;
        size_t at = old[i].hash & overlay->mask;
        while (overlay->table[at].entry) at = (at + 1) & overlay->mask;
        overlay->table[at] = old[i];
    }
    free(old);
}

/* Frees a slot; entries of the run behind it that may not stand beyond a hole move up. */
static void take_out(struct overlay *overlay, size_t hole) {
    overlay->table[hole].entry = NULL;
    for (size_t at = (hole + 1) & overlay->mask; overlay->table[at].entry; at = (at + 1) & overlay->mask) {
        size_t wanted = overlay->table[at].hash & overlay->mask;
        if (((at - wanted) & overlay->mask) < ((at - hole) & overlay->mask)) continue;
        overlay->table[hole] = overlay->table[at];
        overlay->table[at].entry = NULL;
        hole = at;
    }
}

/* ---- entries ---- */

static void make_block(struct overlay *overlay) {
    struct block *block = mem_alloc(sizeof *block + BLOCK * overlay->entry_size);
    block->next = overlay->blocks;
    overlay->blocks = block;
    for (size_t i = 0; i < BLOCK; i++) {
        struct unread *entry = (struct unread *)(void *)(block->entries + i * overlay->entry_size);
        entry->round = 0;
        entry->next = overlay->free;
        overlay->free = entry;
    }
}

static struct unread *entry_new(struct overlay *overlay) {
    if (!overlay->free) make_block(overlay);
    struct unread *entry = overlay->free;
    overlay->free = entry->next;
    return entry;
}

static void link_to_group(struct overlay *overlay, struct unread *entry) {
    bool created;
    uint64_t *value = map_put(overlay->groups, entry->group, &created);
    if (created) *value = (uint64_t)(uintptr_t)mem_zero(1, sizeof(struct unread_group));
    struct unread_group *group = (struct unread_group *)(uintptr_t)*value;
    entry->before = NULL;
    entry->next = group->first;
    if (group->first) group->first->before = entry;
    group->first = entry;
    group->count++;
}

static void unlink_from_group(struct overlay *overlay, struct unread *entry) {
    struct unread_group *group = map_pointer(overlay->groups, entry->group);
    if (entry->before)
        entry->before->next = entry->next;
    else
        group->first = entry->next;
    if (entry->next) entry->next->before = entry->before;
    if (--group->count) return;
    map_remove(overlay->groups, entry->group, NULL);
    free(group);
}

static void drop(struct overlay *overlay, struct unread *entry) {
    take_out(overlay, place(overlay, entry->hash, key_of(overlay, entry), entry->key_size));
    unlink_from_group(overlay, entry);
    entry->round = 0;
    entry->next = overlay->free;
    overlay->free = entry;
    overlay->count--;
}

const void *overlay_find(const struct overlay *overlay, const void *key, size_t key_size, size_t *size) {
    const struct unread *entry = overlay->table[place(overlay, hash_bytes(key, key_size), key, key_size)].entry;
    if (entry && size) *size = entry->value_size;
    return entry ? entry->value : NULL;
}

size_t overlay_waiting(const struct overlay *overlay, uint64_t group) {
    const struct unread_group *found = map_pointer(overlay->groups, group);
    return found ? found->count : 0;
}

/* The key's place in an entry is the overlay's to know: it is as far from the value in all of them. */
static struct overlay_entry entry_at(const struct unread *at, size_t key_at) {
    if (!at) return (struct overlay_entry){.key = NULL};
    return (struct overlay_entry){.key = at->value + key_at,
                                  .value = at->value,
                                  .key_size = at->key_size,
                                  .value_size = at->value_size,
                                  .at = at};
}

struct overlay_entry overlay_first(const struct overlay *overlay, uint64_t group) {
    const struct unread_group *found = map_pointer(overlay->groups, group);
    return entry_at(found ? found->first : NULL, overlay->key_at);
}

void overlay_next(struct overlay_entry *entry) {
    const struct unread *at = entry->at;
    *entry = entry_at(at->next, (size_t)((const uint8_t *)entry->key - at->value));
}

/* ---- rounds ---- */

static struct round *open_round(struct overlay *overlay, int32_t partition) {
    if (partition >= overlay->partitions) {
        overlay->parts = mem_resize(overlay->parts, (size_t)partition + 1, sizeof *overlay->parts);
        while (overlay->partitions <= partition) overlay->parts[overlay->partitions++] = (struct rounds){.first = NULL};
    }
    struct rounds *rounds = &overlay->parts[partition];
    if (rounds->last && rounds->last->end == INT64_MAX) return rounds->last;
    overlay->numbers++;
    struct round *round = MEM_NEW(&(struct round){.number = overlay->numbers, .end = INT64_MAX});
    if (rounds->last)
        rounds->last->next = round;
    else
        rounds->first = round;
    rounds->last = round;
    return round;
}

static struct unread *add(struct overlay *overlay, uint64_t group, uint64_t hash, const void *key, size_t key_size) {
    if ((overlay->count + 1) * 2 > overlay->mask + 1) grow(overlay);
    struct unread *entry = entry_new(overlay);
    entry->group = group;
    entry->hash = hash;
    entry->round = 0;
    entry->key_size = (uint32_t)key_size;
    if (key_size) memcpy(entry->value + overlay->key_at, key, key_size);
    overlay->table[place(overlay, hash, key, key_size)] = (struct overlay_slot){.entry = entry, .hash = hash};
    link_to_group(overlay, entry);
    overlay->count++;
    return entry;
}

static void put_into_round(struct round *round, struct unread *entry) {
    if (entry->round == round->number) return;
    entry->round = round->number;
    MEM_ROOM(round->entries, round->count, round->capacity);
    round->entries[round->count++] = entry;
}

void overlay_put(struct overlay *overlay, int32_t partition, uint64_t group, const void *key, size_t key_size,
                 const void *value, size_t value_size) {
    if (key_size > overlay->key_max || value_size > overlay->value_max) abort(); // the product's sizes are wrong
    uint64_t hash = hash_bytes(key, key_size);
    struct unread *entry = overlay->table[place(overlay, hash, key, key_size)].entry;
    if (!entry) entry = add(overlay, group, hash, key, key_size);
    entry->value_size = (uint32_t)value_size;
    if (value_size) memcpy(entry->value, value, value_size);
    put_into_round(open_round(overlay, partition), entry);
}

void overlay_commit(struct overlay *overlay, const int64_t *ends) {
    for (int32_t p = 0; p < overlay->partitions; p++) {
        struct round *round = overlay->parts[p].last;
        if (round && round->end == INT64_MAX) round->end = ends[p];
    }
}

void overlay_read_back(struct overlay *overlay, int32_t partition, int64_t next) {
    if (partition >= overlay->partitions) return;
    struct rounds *rounds = &overlay->parts[partition];
    while (rounds->first && rounds->first->end <= next) {
        struct round *round = rounds->first;
        for (size_t i = 0; i < round->count; i++)
            if (round->entries[i]->round == round->number) drop(overlay, round->entries[i]);
        rounds->first = round->next;
        if (!rounds->first) rounds->last = NULL;
        round_free(round);
    }
}
