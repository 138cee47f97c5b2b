#include "fanout/nearby/table.h"

#include <string.h>

enum {
    LEAST_BITS = 2, /* 1 << 2 slots */
    SPARSE = 8      /* a table with fewer than one slot in so many in use becomes smaller */
};

static size_t bytes_of(uint32_t capacity) {
    return capacity ? capacity * (sizeof(struct nearby_friend) + 1) + TABLE_TAGS_AT_ONCE : 0;
}

void table_free(struct nearby_table *table, struct lists *lists) {
    lists_table_free(lists, table->capacity, table->slots);
    *table = (struct nearby_table){0};
}

/* Behind the last tag the first ones are repeated, so that as many as are looked at together never end in between. */
static void set_tag(struct nearby_table *table, uint32_t slot, uint8_t tag) {
    for (uint32_t i = slot; i < table->capacity + TABLE_TAGS_AT_ONCE; i += table->capacity) table_tags(table)[i] = tag;
}

static bool is_entry(const struct nearby_friend *friend) { return friend->flags & (NEARBY_HELD | NEARBY_KNOWN); }

/* Puts the entries into a new table, with room for `wanted`. */
static void rehash(struct nearby_table *table, struct lists *lists, uint32_t wanted) {
    struct nearby_friend *old = table->slots;
    uint32_t old_capacity = table->capacity, bits = LEAST_BITS;
    while (wanted * 8 > (7u << bits)) bits++;
    table->slots = wanted ? lists_table_new(lists, 1u << bits, bytes_of(1u << bits)) : NULL;
    table->capacity = wanted ? 1u << bits : 0;
    table->mark_shift = bits > TABLE_MARK_BITS ? bits - TABLE_MARK_BITS : 0;
    table->count = 0;
    table_unmark_all(table);
    for (uint32_t i = 0; i < old_capacity; i++) {
        if (!is_entry(&old[i])) continue;
        uint32_t slot = table_probe(table, old[i].user);
        table->slots[slot] = old[i];
        set_tag(table, slot, table_tag(table_hash(old[i].user)));
        if (old[i].flags & NEARBY_DIRTY) table_mark(table, &table->slots[slot]);
        table->count++;
    }
    table->dead = 0;
    table->shuffles++;
    lists_table_free(lists, old_capacity, old);
}

struct nearby_friend *table_insert(struct nearby_table *table, struct lists *lists, int64_t user) {
    if ((table->count + 1) * 8 > table->capacity * 7) rehash(table, lists, table->count + 1);
    uint32_t slot = table_probe(table, user);
    struct nearby_friend *friend = &table->slots[slot];
    *friend = (struct nearby_friend){.user = user};
    set_tag(table, slot, table_tag(table_hash(user)));
    table->count++;
    return friend;
}

/* The slot is filled with what may not stay behind a free one, and so on to the run's end. */
void table_take_out(struct nearby_table *table, struct lists *lists, struct nearby_friend *friend) {
    uint32_t mask = table->capacity - 1, hole = (uint32_t)(friend - table->slots);
    for (uint32_t i = (hole + 1) & mask; table->slots[i].flags; i = (i + 1) & mask) {
        if (((i - table_home(table, table_hash(table->slots[i].user))) & mask) < ((i - hole) & mask)) continue;
        table->slots[hole] = table->slots[i];
        set_tag(table, hole, table_tags(table)[i]);
        if (table->slots[i].flags & NEARBY_DIRTY) table_mark(table, &table->slots[hole]);
        hole = i;
    }
    table->slots[hole] = (struct nearby_friend){0};
    set_tag(table, hole, 0);
    table->count--;
    table->shuffles++;
    if (table->count * SPARSE < table->capacity && table->capacity > 1 << LEAST_BITS)
        rehash(table, lists, table->count);
}

void table_sweep(struct nearby_table *table, struct lists *lists, uint32_t dead) {
    if (dead) rehash(table, lists, table->count - dead);
}

struct nearby_friend *table_next_marked(struct nearby_table *table, uint32_t *cursor) {
    uint32_t shift = table->mark_shift, at;
    while ((at = *cursor >> shift) < table->capacity >> shift) {
        uint64_t marks = table->marks[at / 64] >> at % 64;
        if (marks & 1) {
            struct nearby_friend *friend = &table->slots[(*cursor)++];
            if (*cursor >> shift != at) table->marks[at / 64] &= ~((uint64_t)1 << at % 64);
            return friend;
        }
        *cursor = (marks ? at + (uint32_t)__builtin_ctzll(marks) : (at | 63) + 1) << shift;
    }
    return NULL;
}

void table_unmark_all(struct nearby_table *table) { memset(table->marks, 0, sizeof table->marks); }
