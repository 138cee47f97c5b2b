#include "feed/id_table.h"

#include <stdlib.h>

#include "base/mem.h"

enum { SMALLEST = 8, TAIL = 16, TAIL_SHARE = 64 };

/* Memory for slots, zeroed: large pages, from where on they are filled. */
static size_t round_up(size_t bytes) {
    return bytes < MEM_LARGE_PAGE ? bytes : (bytes + MEM_LARGE_PAGE - 1) / MEM_LARGE_PAGE * MEM_LARGE_PAGE;
}

static uint8_t *slots_new(size_t bytes) {
    return bytes < MEM_LARGE_PAGE ? mem_zero(bytes, 1) : mem_pages(round_up(bytes), true);
}

static void slots_free(uint8_t *slots, size_t bytes) {
    if (bytes < MEM_LARGE_PAGE)
        free(slots);
    else
        mem_pages_free(slots, round_up(bytes));
}

void id_table_free(struct id_table *table) {
    slots_free(table->slots, id_table_bytes(table));
    *table = (struct id_table){.size = table->size, .skip = table->skip};
}

static uint8_t *slot_at(const struct id_table *table, size_t index) { return table->slots + index * table->size; }

/* Where the key is or belongs: behind all whose home is not behind its own. */
static uint8_t *place_of(const struct id_table *table, uint64_t key) {
    size_t home = id_table_home(table, key);
    uint8_t *slot = slot_at(table, home);
    for (;; slot += table->size) {
        uint64_t found = id_table_key(slot);
        if (!found || found == key || id_table_home(table, found) > home) return slot;
    }
}

/* Makes the place free by moving what stands there and behind it. False: it would reach the last slot. */
static bool make_room(const struct id_table *table, uint8_t *place) {
    uint8_t *hole = place;
    while (id_table_key(hole)) hole += table->size;
    if (hole == slot_at(table, table->end - 1)) return false;
    memmove(place + table->size, place, (size_t)(hole - place));
    memset(place, 0, table->size);
    return true;
}

/* Into a table with more homes; false: crowded at its end. */
static bool copy_all(const struct id_table *from, const struct id_table *to) {
    const uint8_t *slot;
    for (size_t at = 0; (slot = id_table_next(from, &at));) {
        uint8_t *place = place_of(to, id_table_key(slot));
        if (!make_room(to, place)) return false;
        memcpy(place, slot, from->size);
    }
    return true;
}

static void grow(struct id_table *table) {
    struct id_table bigger = *table;
    bool done = false;
    while (!done) {
        bigger.homes = bigger.homes ? bigger.homes + bigger.homes / 4 : SMALLEST;
        bigger.end = bigger.homes + TAIL + bigger.homes / TAIL_SHARE;
        size_t spare = round_up(id_table_bytes(&bigger)) / bigger.size - bigger.end;
        bigger.homes += spare;
        bigger.end += spare;
        bigger.slots = slots_new(id_table_bytes(&bigger));
        done = copy_all(table, &bigger);
        if (!done) slots_free(bigger.slots, id_table_bytes(&bigger));
    }
    slots_free(table->slots, id_table_bytes(table));
    *table = bigger;
}

void *id_table_put(struct id_table *table, int64_t id, bool *created) {
    uint64_t key = (uint64_t)id + 1;
    uint8_t *place = table->homes ? place_of(table, key) : NULL;
    *created = !place || id_table_key(place) != key;
    if (!*created) return place;
    if (table->count >= table->homes * 7 / 8) {
        grow(table);
        place = place_of(table, key);
    }
    while (!make_room(table, place)) {
        grow(table);
        place = place_of(table, key);
    }
    memcpy(place, &key, sizeof key);
    table->count++;
    return place;
}

/* Moves back what stands behind its home because of the slot. */
void id_table_remove(struct id_table *table, void *slot) {
    uint8_t *hole = slot, *end = hole + table->size;
    size_t index = (size_t)(end - table->slots) / table->size;
    while (id_table_key(end) && id_table_home(table, id_table_key(end)) < index) {
        end += table->size;
        index++;
    }
    memmove(hole, hole + table->size, (size_t)(end - hole) - table->size);
    memset(end - table->size, 0, table->size);
    table->count--;
}

void *id_table_next(const struct id_table *table, size_t *at) {
    while (*at < table->end) {
        uint8_t *slot = slot_at(table, (*at)++);
        if (id_table_key(slot)) return slot;
    }
    return NULL;
}
