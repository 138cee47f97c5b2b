#include "places/standing.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

struct standing_part {
    struct map *users; /* user -> struct standing_user; NULL: not begun */
    struct standing_user *first, *last, **bare;
    size_t bare_count;
    int64_t end; /* of the reports */
};

struct standing {
    struct place_stores *stores;
    struct standing_part *parts;
    int32_t partitions;
};

struct standing *standing_new(struct place_stores *stores, int32_t partitions) {
    return MEM_NEW(&(struct standing){.stores = stores,
                                      .partitions = partitions,
                                      .parts = mem_zero((size_t)partitions, sizeof(struct standing_part))});
}

static void user_free(struct standing_user *user) {
    free(user->places);
    free(user->bands);
    free(user);
}

static void part_forget(struct standing_part *part) {
    size_t cursor = 0;
    uint64_t key, value;
    while (part->users && map_next(part->users, &cursor, &key, &value))
        user_free((struct standing_user *)(uintptr_t)value);
    map_free(part->users);
    free(part->bare);
    *part = (struct standing_part){.users = NULL};
}

void standing_forget(struct standing *standing) {
    for (int32_t p = 0; p < standing->partitions; p++) part_forget(&standing->parts[p]);
}

void standing_free(struct standing *standing) {
    if (!standing) return;
    standing_forget(standing);
    free(standing->parts);
    free(standing);
}

/* ---- users ---- */

struct standing_user *standing_find(const struct standing *standing, int32_t partition, int64_t user) {
    return map_pointer(standing->parts[partition].users, (uint64_t)user);
}

struct standing_user *standing_add(struct standing *standing, int32_t partition, int64_t user,
                                   const struct place_state *state) {
    struct standing_user *added = MEM_NEW(&(struct standing_user){.user = user, .state = *state, .waits = -1});
    *map_put(standing->parts[partition].users, (uint64_t)user, NULL) = (uintptr_t)added;
    return added;
}

void standing_remove(struct standing *standing, int32_t partition, struct standing_user *user) {
    standing_wait_end(standing, partition, user);
    map_remove(standing->parts[partition].users, (uint64_t)user->user, NULL);
    user_free(user);
}

size_t standing_count(const struct standing *standing) {
    size_t count = 0;
    for (int32_t p = 0; p < standing->partitions; p++)
        if (standing->parts[p].users) count += map_count(standing->parts[p].users);
    return count;
}

static int count_places(struct standing *standing, int32_t partition, struct error *error) {
    static const struct place_state NOTHING = {.left = -1};
    struct place_walk walk;
    struct place_key key;
    int code;
    place_walk_places(standing->stores, partition, -1, &walk);
    while ((code = place_walk_next_place(&walk, &key, NULL, error)) == 1) {
        struct standing_user *user = standing_find(standing, partition, key.user);
        if (!user) user = standing_add(standing, partition, key.user, &NOTHING);
        user->count++;
    }
    place_walk_end(&walk);
    return code;
}

/* See standing_begin. */
static void believe(const struct standing *standing, int32_t partition, struct place_state *state) {
    if (state->offset > standing->parts[partition].end) state->offset = 0;
}

int standing_stored(struct standing *standing, int32_t partition, int64_t user, struct place_state *state,
                    struct error *error) {
    int code = place_stores_state(standing->stores, partition, user, state, error);
    if (code == 1) believe(standing, partition, state);
    return code;
}

static int read_states(struct standing *standing, int32_t partition, struct error *error) {
    struct place_walk walk;
    struct place_state state;
    int64_t number;
    int code;
    place_walk_states(standing->stores, partition, &walk);
    while ((code = place_walk_next_state(&walk, &number, &state, error)) == 1) {
        struct standing_user *user = standing_find(standing, partition, number);
        believe(standing, partition, &state);
        if (user)
            user->state = state;
        else if (state.bare)
            standing_bare(standing, partition, standing_add(standing, partition, number, &state));
    }
    place_walk_end(&walk);
    return code;
}

bool standing_begun(const struct standing *standing, int32_t partition) { return standing->parts[partition].users; }

int standing_begin(struct standing *standing, int32_t partition, int64_t end, struct error *error) {
    struct standing_part *part = &standing->parts[partition];
    if (part->users) return 0;
    part->end = end;
    part->users = map_new();
    int code = count_places(standing, partition, error);
    if (!code) code = read_states(standing, partition, error);
    if (code) part_forget(part);
    return code;
}

/* ---- places ---- */

static void take_row(struct standing_user *user, size_t count, const struct place_key *key,
                     const struct user_place *row) {
    struct watched_place place = {
        .centre = {row->lat, row->lng}, .radius = row->radius, .slot = row->slot, .id_size = (uint32_t)key->id_size};
    memcpy(place.id, key->id, key->id_size);
    user->count = count;
    standing_place_put(user, count, false, &place);
}

/* Rows come by id. Until they are read, `count` is what was counted when the partition was begun. */
int standing_load(struct standing *standing, int32_t partition, struct standing_user *user, struct error *error) {
    struct place_walk walk;
    struct place_key key;
    struct user_place row;
    size_t count = 0;
    int code;
    if (user->loaded) return 0;
    place_walk_places(standing->stores, partition, user->user, &walk);
    while ((code = place_walk_next_place(&walk, &key, &row, error)) == 1) take_row(user, count++, &key, &row);
    place_walk_end(&walk);
    user->loaded = !code;
    return code;
}

bool standing_place(const struct standing_user *user, const char *id, size_t id_size, size_t *at) {
    for (*at = 0; *at < user->count; ++*at) {
        const struct watched_place *place = &user->places[*at];
        int order = place_id_compare(place->id, place->id_size, id, id_size);
        if (order >= 0) return !order;
    }
    return false;
}

void standing_place_put(struct standing_user *user, size_t at, bool there, const struct watched_place *place) {
    size_t behind = user->count - at;
    if (!there) {
        user->places = mem_resize(user->places, user->count + 1, sizeof *user->places);
        user->bands = mem_resize(user->bands, user->count + 1, sizeof *user->bands);
        memmove(user->places + at + 1, user->places + at, behind * sizeof *user->places);
        memmove(user->bands + at + 1, user->bands + at, behind * sizeof *user->bands);
        user->count++;
    }
    user->places[at] = *place;
    verdict_prepare(&user->places[at], user->state.inside >> place->slot & 1, &user->bands[at]);
}

void standing_place_remove(struct standing_user *user, size_t at) {
    size_t behind = --user->count - at;
    memmove(user->places + at, user->places + at + 1, behind * sizeof *user->places);
    memmove(user->bands + at, user->bands + at + 1, behind * sizeof *user->bands);
}

/* ---- who waits ---- */

void standing_wait(struct standing *standing, int32_t partition, struct standing_user *user, int64_t offset,
                   int64_t arrived_ms) {
    struct standing_part *part = &standing->parts[partition];
    if (user->waits >= 0) return;
    user->waits = offset;
    user->waits_ms = arrived_ms;
    user->before = part->last;
    user->after = NULL;
    *(part->last ? &part->last->after : &part->first) = user;
    part->last = user;
}

void standing_wait_end(struct standing *standing, int32_t partition, struct standing_user *user) {
    struct standing_part *part = &standing->parts[partition];
    if (user->waits < 0) return;
    user->waits = -1;
    *(user->before ? &user->before->after : &part->first) = user->after;
    *(user->after ? &user->after->before : &part->last) = user->before;
}

struct standing_user *standing_waiting(const struct standing *standing, int32_t partition) {
    return standing->parts[partition].first;
}

/* ---- who was forgotten ---- */

void standing_bare(struct standing *standing, int32_t partition, struct standing_user *user) {
    struct standing_part *part = &standing->parts[partition];
    if (user->listed) return;
    user->listed = true;
    part->bare = mem_resize(part->bare, part->bare_count + 1, sizeof(struct standing_user *));
    part->bare[part->bare_count++] = user;
}

void standing_bare_each(struct standing *standing, int32_t partition, void *context,
                        bool (*each)(void *context, struct standing_user *user)) {
    struct standing_part *part = &standing->parts[partition];
    size_t kept = 0;
    for (size_t i = 0; i < part->bare_count; i++) {
        struct standing_user *user = part->bare[i];
        if (each(context, user)) part->bare[kept++] = user;
    }
    part->bare_count = kept;
}
