/* Records of friendships sorted outside of the store: what a family that is built from the beginning is made of.
 *
 * A run is a lot of records, sorted by (user, other) with the last of each pair kept, as bytes; runs are in the order of
 * reading, so that of two with the same pair the later one is right. They are kept in memory, or in a file without a name
 * that ends with its process.
 *
 *     record: flags (1) [user - user before] other - other before | other, offset - offset before, since - since before
 *
 * One thread at a time.
 */
#ifndef ROUTER_GRAPH_RUNS_H
#define ROUTER_GRAPH_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "router/friendship.h"

struct graph_update {
    int64_t user, other, offset, since;
    uint8_t state; /* enum friendship_state */
    bool blocked_by_me, blocked_by_them;
};

static inline struct friendship graph_update_half(const struct graph_update *update) {
    return (struct friendship){.state = (enum friendship_state)update->state,
                               .blocked_by_me = update->blocked_by_me,
                               .blocked_by_them = update->blocked_by_them,
                               .since = update->since};
}

static inline bool graph_update_made(const struct graph_update *update) {
    return update->state == FRIENDSHIP_FRIENDS && !update->blocked_by_me && !update->blocked_by_them;
}

/* Sorts by (user, other) and keeps of each pair the one with the greatest offset; returns how many are left. */
size_t graph_updates_tidy(struct graph_update *updates, size_t count);

struct graph_runs;

struct graph_runs *graph_runs_new(const char *folder); /* where the file would be */
void graph_runs_free(struct graph_runs *runs);         /* NULL is fine */

void graph_runs_add(struct graph_runs *runs, struct graph_update *updates, size_t count); /* one run; tidies them */
size_t graph_runs_bytes(const struct graph_runs *runs);                                   /* of memory */
int graph_runs_spill(struct graph_runs *runs, struct error *error); /* what is in memory goes to the file */

/* Calls fn for each user in rising order with the last record of each of their pairs, until it returns not 0, which is
 * returned. */
typedef int graph_runs_fn(void *context, const struct graph_update *updates, size_t count, struct error *error);
int graph_runs_merge(struct graph_runs *runs, graph_runs_fn *fn, void *context, struct error *error);

#endif
