#include "router/strangers.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/due.h"
#include "base/hash.h"
#include "base/maps.h"
#include "base/mem.h"
#include "router/cells.h"

enum { USERS_BITS = 8, CHUNK_BITS = 10, CHUNK = 1 << CHUNK_BITS, NOBODY = -1 };
#define NO_ENTRY UINT32_MAX

/*  users  | user -> entry + 1, or 0: shares no longer |
 *  chunks | 1024 entries | 1024 entries | ...             entries do not move, and there is no large block to copy
 */
struct entry {
    int64_t user; /* NOBODY: free, and slot is the next free one */
    struct geo_point at;
    int64_t time;           /* of the last report */
    uint64_t told, pending; /* cells; GRID_NOWHERE: none */
    int64_t due;            /* when pending is told */
    uint32_t slot;          /* place in the told cell */
    bool placed;            /* at and time are known */
};

struct strangers {
    struct strangers_options options;
    struct grid grid;
    struct maps *users;
    struct entry **chunks;
    uint32_t used, free; /* entries; free: the first free one or NO_ENTRY */
    uint32_t sweep;
    size_t count, placed;
    struct cells *cells;
    struct due due;
};

static struct entry *entry_at(const struct strangers *strangers, uint32_t index) {
    return &strangers->chunks[index >> CHUNK_BITS][index & (CHUNK - 1)];
}

/* NO_ENTRY: does not share publicly. */
static uint32_t find(const struct strangers *strangers, int64_t user) {
    const uint64_t *value = maps_find(strangers->users, (uint64_t)user);
    return value ? (uint32_t)*value - 1 : NO_ENTRY;
}

/* ---- cells and delays ---- */

static int64_t delay(const struct strangers *strangers, int64_t user, int64_t since) {
    uint8_t bytes[16];
    bytes_put_be64(bytes, (uint64_t)user);
    bytes_put_be64(bytes + 8, (uint64_t)since);
    return (int64_t)(hash_sip(strangers->options.key, bytes, sizeof bytes) %
                     (uint64_t)(strangers->options.delay_ms + 1));
}

static void leave_cell(struct strangers *strangers, struct entry *entry) {
    if (entry->told == GRID_NOWHERE) return;
    uint32_t moved = cells_remove(strangers->cells, entry->told, entry->slot);
    entry_at(strangers, moved)->slot = entry->slot;
    entry->told = GRID_NOWHERE;
}

/* Begins a move, or ends one that is no longer called for. */
static void consider(struct strangers *strangers, uint32_t index, int64_t since) {
    struct entry *entry = entry_at(strangers, index);
    if (entry->told != GRID_NOWHERE && !grid_well_outside(&strangers->grid, entry->told, entry->at)) {
        entry->pending = GRID_NOWHERE;
    } else if (entry->pending == GRID_NOWHERE) {
        entry->pending = grid_cell(&strangers->grid, entry->at);
        entry->due = since + delay(strangers, entry->user, since);
        due_put(&strangers->due, (struct due_item){.at = entry->due, .what = index});
    }
}

/* Tells what is due. The user may have gone on since the move began: that is a move of its own. */
static void settle(struct strangers *strangers, uint32_t index, int64_t now) {
    struct entry *entry = entry_at(strangers, index);
    while (entry->pending != GRID_NOWHERE && entry->due <= now) {
        leave_cell(strangers, entry);
        entry->told = entry->pending;
        entry->slot = cells_add(strangers->cells, entry->told, index);
        entry->pending = GRID_NOWHERE;
        consider(strangers, index, entry->due);
    }
}

static void unplace(struct strangers *strangers, struct entry *entry) {
    if (!entry->placed) return;
    leave_cell(strangers, entry);
    entry->pending = GRID_NOWHERE;
    entry->placed = false;
    strangers->placed--;
}

static bool silent(const struct strangers *strangers, const struct entry *entry, int64_t now) {
    return now - entry->time >= strangers->options.inactive_ms;
}

/* ---- users ---- */

static uint32_t take_entry(struct strangers *strangers) {
    uint32_t index = strangers->free;
    if (index != NO_ENTRY) {
        strangers->free = entry_at(strangers, index)->slot;
        return index;
    }
    index = strangers->used++;
    if (!(index & (CHUNK - 1))) {
        size_t chunk = index >> CHUNK_BITS;
        strangers->chunks = mem_resize(strangers->chunks, chunk + 1, sizeof(*strangers->chunks));
        strangers->chunks[chunk] = mem_alloc(CHUNK * sizeof(struct entry));
    }
    return index;
}

void strangers_add(struct strangers *strangers, int64_t user) {
    uint64_t *value = maps_put(strangers->users, (uint64_t)user, NULL);
    if (*value) return;
    uint32_t index = take_entry(strangers);
    *value = (uint64_t)index + 1;
    *entry_at(strangers, index) = (struct entry){.user = user, .told = GRID_NOWHERE, .pending = GRID_NOWHERE};
    strangers->count++;
}

void strangers_drop(struct strangers *strangers, int64_t user) {
    uint32_t index = find(strangers, user);
    if (index == NO_ENTRY) return;
    struct entry *entry = entry_at(strangers, index);
    unplace(strangers, entry);
    entry->user = NOBODY;
    entry->slot = strangers->free;
    strangers->free = index;
    strangers->count--;
    *maps_find(strangers->users, (uint64_t)user) = 0;
}

bool strangers_has(const struct strangers *strangers, int64_t user) { return find(strangers, user) != NO_ENTRY; }

void strangers_place(struct strangers *strangers, int64_t user, struct geo_point at, int64_t time,
                     int64_t received_ms) {
    uint32_t index = find(strangers, user);
    if (index == NO_ENTRY) return;
    struct entry *entry = entry_at(strangers, index);
    if (entry->placed && silent(strangers, entry, time)) unplace(strangers, entry);
    settle(strangers, index, received_ms);
    strangers->placed += !entry->placed;
    entry->placed = true;
    entry->at = at;
    entry->time = time;
    consider(strangers, index, received_ms);
}

void strangers_hide(struct strangers *strangers, int64_t user) {
    uint32_t index = find(strangers, user);
    if (index != NO_ENTRY) unplace(strangers, entry_at(strangers, index));
}

void strangers_advance(struct strangers *strangers, int64_t wall_ms, int64_t now_ms, size_t budget) {
    struct due_item item;
    for (size_t i = 0; i < budget && due_take(&strangers->due, wall_ms, &item); i++)
        settle(strangers, (uint32_t)item.what, wall_ms); // it may have been another move's: then that one is due later
    for (size_t i = 0; i < budget && i < strangers->used; i++) {
        if (++strangers->sweep >= strangers->used) strangers->sweep = 0;
        struct entry *entry = entry_at(strangers, strangers->sweep);
        if (entry->user != NOBODY && entry->placed && silent(strangers, entry, now_ms)) unplace(strangers, entry);
    }
}

/* ---- lists ---- */

struct near_cell {
    uint64_t cell;
    struct geo_point centre;
    int64_t distance_dm;
};

static int by_distance(const void *a, const void *b) {
    const struct near_cell *x = a, *y = b;
    return x->distance_dm != y->distance_dm ? (x->distance_dm > y->distance_dm) - (x->distance_dm < y->distance_dm)
                                            : (x->cell > y->cell) - (x->cell < y->cell);
}

static int by_distance_and_user(const void *a, const void *b) {
    const struct stranger *x = a, *y = b;
    return x->distance_dm != y->distance_dm ? (x->distance_dm > y->distance_dm) - (x->distance_dm < y->distance_dm)
                                            : (x->user > y->user) - (x->user < y->user);
}

static size_t near_cells(const struct grid *grid, struct geo_point at, struct near_cell near[GRID_AROUND]) {
    uint64_t cells[GRID_AROUND];
    size_t count = grid_around(grid, grid_cell(grid, at), cells);
    for (size_t i = 0; i < count; i++) {
        struct geo_point centre = grid_centre(grid, cells[i]);
        int64_t distance_dm = (int64_t)(geo_distance(at, centre) * 10 + 0.5);
        near[i] = (struct near_cell){.cell = cells[i], .centre = centre, .distance_dm = distance_dm};
    }
    qsort(near, count, sizeof *near, by_distance);
    return count;
}

/* Appends members of one cell, all of which are equally near: so it may take the first that it meets, beginning elsewhere in each turn. */
static size_t take_from_cell(const struct strangers *strangers, const struct strangers_question *question,
                             const struct near_cell *near, size_t *asked, struct stranger *list, size_t taken) {
    size_t members;
    const uint32_t *member = cells_members(strangers->cells, near->cell, &members);
    size_t begin = members ? (uint64_t)question->turn * question->max % members : 0;
    size_t looks = members < STRANGERS_LOOKS ? members : STRANGERS_LOOKS;
    for (size_t i = 0; i < looks && taken < question->max && *asked < 2 * question->max; i++) {
        const struct entry *entry = entry_at(strangers, member[(begin + i) % members]);
        if (entry->user == question->user || silent(strangers, entry, question->now_ms)) continue;
        ++*asked;
        if (question->hidden(question->context, entry->user)) continue;
        list[taken++] = (struct stranger){
            .user = entry->user,
            .at = near->centre,
            .distance_dm = near->distance_dm,
            .time = entry->time - entry->time % STRANGERS_ROUND_MS,
        };
    }
    return taken;
}

size_t strangers_list(const struct strangers *strangers, const struct strangers_question *question,
                      struct stranger *list) {
    struct near_cell near[GRID_AROUND];
    size_t count = near_cells(&strangers->grid, question->at, near), taken = 0, asked = 0;
    for (size_t i = 0; i < count; i++) taken = take_from_cell(strangers, question, &near[i], &asked, list, taken);
    qsort(list, taken, sizeof *list, by_distance_and_user); // no more than max
    return taken;
}

/* ---- beginning and end ---- */

struct strangers *strangers_new(const struct strangers_options *options) {
    return MEM_NEW(&(struct strangers){
        .options = *options,
        .grid = grid_of(options->precision),
        .users = maps_new(USERS_BITS),
        .free = NO_ENTRY,
        .cells = cells_new(),
    });
}

static void free_parts(struct strangers *strangers) {
    for (size_t i = 0; i < strangers->used; i += CHUNK) free(strangers->chunks[i >> CHUNK_BITS]);
    free(strangers->chunks);
    maps_free(strangers->users);
    cells_free(strangers->cells);
    due_free(&strangers->due);
}

void strangers_clear(struct strangers *strangers) {
    struct strangers *empty = strangers_new(&strangers->options);
    free_parts(strangers);
    *strangers = *empty;
    free(empty);
}

void strangers_free(struct strangers *strangers) {
    if (!strangers) return;
    free_parts(strangers);
    free(strangers);
}

const struct grid *strangers_grid(const struct strangers *strangers) { return &strangers->grid; }
size_t strangers_count(const struct strangers *strangers) { return strangers->count; }
size_t strangers_placed(const struct strangers *strangers) { return strangers->placed; }
