/* Users with places, in memory: what reports are judged by. It is ahead of the stores from the first decision on, so it is dropped whenever
 * decisions are, and made anew of them.
 *
 *     partition   users     7 -> { state, places with their borders }      borders at the first report that needs them
 *                 waiting   7 --> 3 --> ...      whose newest report is in no written state, by the offset of their first such report
 *                 bare      9, ...               who were forgotten, and whose state goes in time
 *
 * Loop's thread.
 */
#pragma once

#include "places/stores.h"
#include "places/verdict.h"

struct standing;

struct standing_user {
    int64_t user;
    struct place_state state;
    struct watched_place *places;         /* by id; NULL: not loaded, or none */
    struct watched_band *bands;           /* of these */
    size_t count;                         /* of places */
    bool loaded, listed;                  /* listed: as bare */
    int64_t waits;                        /* the first report that no written state covers; -1: there is none */
    int64_t waits_ms;                     /* when it arrived */
    struct standing_user *before, *after; /* of those who wait */
};

struct standing *standing_new(struct place_stores *stores, int32_t partitions);
void standing_free(struct standing *standing);   /* NULL is fine */
void standing_forget(struct standing *standing); /* all of it */

/* Reads the partition's users, if it has not. 0 or a negative errno code. end: of the partition's reports: a state with a later offset is of a topic
 * that was there before, and no report of this one is judged in it. */
int standing_begin(struct standing *standing, int32_t partition, int64_t end, struct error *error);
/* 1: the stores have a state, 0: they have none, or a negative errno code. */
int standing_stored(struct standing *standing, int32_t partition, int64_t user, struct place_state *state,
                    struct error *error);
bool standing_begun(const struct standing *standing, int32_t partition);

/* These are for partitions that are begun. NULL: there is no such user here. */
struct standing_user *standing_find(const struct standing *standing, int32_t partition, int64_t user);
/* One who is not here: the state is the caller's, and there are no places. */
struct standing_user *standing_add(struct standing *standing, int32_t partition, int64_t user,
                                   const struct place_state *state);
void standing_remove(struct standing *standing, int32_t partition, struct standing_user *user);
/* The user's places, with their borders. 0 or a negative errno code. */
int standing_load(struct standing *standing, int32_t partition, struct standing_user *user, struct error *error);
size_t standing_count(const struct standing *standing); /* users */

/* Of a user who is loaded. `at`: where the place is, or would be. False: it is not there. */
bool standing_place(const struct standing_user *user, const char *id, size_t id_size, size_t *at);
/* Sets its border, too. */
void standing_place_put(struct standing_user *user, size_t at, bool there, const struct watched_place *place);
void standing_place_remove(struct standing_user *user, size_t at);

void standing_wait(struct standing *standing, int32_t partition, struct standing_user *user, int64_t offset,
                   int64_t arrived_ms);
void standing_wait_end(struct standing *standing, int32_t partition, struct standing_user *user);
struct standing_user *standing_waiting(const struct standing *standing, int32_t partition); /* the first one; or NULL */

void standing_bare(struct standing *standing, int32_t partition, struct standing_user *user);
/* Calls for each user who is bare; false: the user is none any more, or is gone. */
void standing_bare_each(struct standing *standing, int32_t partition, void *context,
                        bool (*each)(void *context, struct standing_user *user));
