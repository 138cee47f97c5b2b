/* Records sorted outside of the store. A family that is built from the topic's beginning is made of them.
 *
 * A run is a lot of records as bytes, sorted by (owner, kind, id), with only the last record of each entry. Runs are kept in the order of
 * reading, so of two records of an entry the later one counts. They lie in memory, or in a file without a name, which goes
 * away with the process.
 *
 *     record: flags (1) [owner - owner before, kind (1)] id - id before | id, offset - offset before, stamp - stamp before
 *
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct adjacency_update {
    int64_t owner, id, offset, stamp;
    uint8_t kind, tag;
};

static inline bool adjacency_update_same_list(const struct adjacency_update *a, const struct adjacency_update *b) {
    return a->owner == b->owner && a->kind == b->kind;
}

/* Sorts by (owner, kind, id) and keeps only the record with the greatest offset of each entry; returns how many are left. */
size_t adjacency_updates_tidy(struct adjacency_update *updates, size_t count);

struct adjacency_runs;

/* folder: where the file would be. kinds: how many kinds of lists there are; with one, records do not say which. */
struct adjacency_runs *adjacency_runs_new(const char *folder, int kinds);
void adjacency_runs_free(struct adjacency_runs *runs); /* NULL is fine */

void adjacency_runs_add(struct adjacency_runs *runs, struct adjacency_update *updates,
                        size_t count);                                      /* one run; tidies them */
size_t adjacency_runs_bytes(const struct adjacency_runs *runs);             /* of memory */
int adjacency_runs_spill(struct adjacency_runs *runs, struct error *error); /* moves the runs in memory to the file */

/* Calls fn with the last record of each entry, list by list in rising order, until it returns not 0, which is returned. A
 * list of many records comes in pieces of at most ADJACENCY_PIECE; whole: the list ends with this one. */
enum { ADJACENCY_PIECE = 65536 };
typedef int adjacency_runs_fn(void *context, const struct adjacency_update *updates, size_t count, bool whole,
                              struct error *error);
int adjacency_runs_merge(struct adjacency_runs *runs, adjacency_runs_fn *fn, void *context, struct error *error);
