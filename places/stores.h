/* What a places process has on its disk: the rows of `places`, `place-states` and `place-events` as they come, in table stores. Loop's
 * thread. */
#pragma once

#include "event/codec.h"
#include "state/ages.h"
#include "state/table_store.h"
#include "users/place.h"

enum { PLACE_VALUE_MAX = 1024 /* bytes of a record of `places` */ };

struct place_stores;

int place_stores_open(const char *path, size_t memory_bytes, int32_t partitions, struct place_stores **stores,
                      struct error *error);
void place_stores_close(struct place_stores *stores); /* NULL is fine */

struct store *place_stores_database(struct place_stores *stores);
struct ages *place_stores_ages(struct place_stores *stores);
/* Of TABLE_STORE_KIND: */
struct table_store *place_stores_places(struct place_stores *stores);
struct table_store *place_stores_states(struct place_stores *stores);
struct table_store *place_stores_events(struct place_stores *stores);

/* 1: found, 0: there is none, or a negative errno code. What the row points to is valid until the next call of this header. */
int place_stores_state(struct place_stores *stores, int32_t partition, int64_t user, struct place_state *state,
                       struct error *error);
int place_stores_place(struct place_stores *stores, int32_t partition, const struct place_key *key,
                       struct user_place *place, struct error *error);

/* A walk over the rows of a user, or (user -1) of the whole partition. */
struct place_walk {
    struct store_cursor *cursor;
    struct codec *codec;
    int64_t user;
    bool begun;
};
void place_walk_places(struct place_stores *stores, int32_t partition, int64_t user, struct place_walk *walk);
void place_walk_states(struct place_stores *stores, int32_t partition, struct place_walk *walk);
void place_walk_events(struct place_stores *stores, int32_t partition, const struct place_event_key *first,
                       struct place_walk *walk);
void place_walk_end(struct place_walk *walk);
/* 1: the next row; 0: there are no more; or a negative errno code. A row is valid until the next call. place NULL: only its key is read. */
int place_walk_next_place(struct place_walk *walk, struct place_key *key, struct user_place *place,
                          struct error *error);
int place_walk_next_state(struct place_walk *walk, int64_t *user, struct place_state *state, struct error *error);
int place_walk_next_event(struct place_walk *walk, struct place_event_key *key, struct place_event *event,
                          struct error *error);
