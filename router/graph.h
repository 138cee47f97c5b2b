/* The friend lists of owned partitions on disk: the content of the topic friendships, in the form that the join reads.
 *
 * The lists are lib/adjacency's, of one kind: a user's friends are the members, marked where one sees the other rounded, and every other half that is not empty
 * (a request, a block) is an aside. A list up to twice the cap is one value. `since` is a stamp. For a friendship it is kept for a day or two,
 * because only a REMOVE of the cap needs it, and commands live for a day; for other halves it stays.
 *
 * Functions return the codes of lib/adjacency. When a list is damaged on disk they return -EBADMSG and call on_damaged;
 * adjacency_rebuild and reading the topic anew mend it.
 */
#pragma once

#include "router/friendship.h"
#include "state/list_store.h"

struct graph;

enum { GRAPH_FROM_BEGINNING = ADJACENCY_FROM_BEGINNING };

struct graph_change {
    int64_t user, other;
    bool was_made, made;
    uint8_t rounded_before, rounded; /* bits of rounding.h; ROUNDING_NONE when not made */
};

struct graph_options {
    const char *path; /* of the database */
    int32_t partitions;
    size_t cap;          /* of friends; at least 1 */
    int64_t max_age_ms;  /* a family last written longer ago has missed tombstones and is dropped */
    size_t memory_bytes; /* of RocksDB, all included, and of families being built (a quarter of it); 0: 96 MiB */
    size_t build_bytes;  /* of runs in memory, of all families being built together; more goes to disk. 0: an eighth */
    void *context;
    /* A friendship made, ended, or rounded otherwise, after it was written. Not called while restoring. */
    void (*on_change)(void *context, const struct graph_change *change);
    /* The friendship of this record takes the user's list beyond the cap. The stored offset does not pass this record until
     * adjacency_release allows it. */
    void (*on_excess)(void *context, int32_t partition, int64_t user, int64_t other, int64_t since, int64_t offset);
    /* A list of the partition is damaged. Called from within what reads it, so it may only take note. May be NULL. */
    void (*on_damaged)(void *context, int32_t partition, const struct error *error);
};

int graph_open(const struct graph_options *options, struct graph **graph, struct error *error);
void graph_close(struct graph *graph); /* NULL is fine; queued records are lost, and read again by their offset */

/* They live as long as the graph. Partitions come and go, and records are applied, by them (state/list_store.h). */
struct adjacency *graph_lists(struct graph *graph);
/* The user's half as an entry of the lists; an empty one, of a tombstone, takes it off. */
struct list_entry graph_entry(int32_t partition, int64_t user, int64_t other, const struct friendship *half);

/* A user's friends. The hot path: no allocation once the list has grown. */
int graph_friends(struct graph *graph, int32_t partition, int64_t user, struct id_list *list, struct error *error);

/* Which of these friends see the user rounded, or are seen so. friends: just read (graph_friends; nothing was applied since). Costs
 * nothing where there are none. */
int graph_roundings(struct graph *graph, int32_t partition, int64_t user, const struct id_list *friends,
                    struct rounding_list *list, struct error *error);

/* The friends of several users, in rising order, each named once; cheaper than one by one. One list for each user; the lists are
 * undefined after a failure. */
enum { GRAPH_MANY = ADJACENCY_MANY };
int graph_friends_many(struct graph *graph, int32_t partition, const int64_t *users, size_t count,
                       struct id_list *lists, struct error *error);

/* One half, empty when there is none, and how many friends the user has (friends may be NULL). */
int graph_half(struct graph *graph, int32_t partition, int64_t user, int64_t other, struct friendship *half,
               size_t *friends, struct error *error);

/* The same for a user whose friends the caller has just read (graph_friends; nothing was applied since). with_since: also looks up the
 * `since` of a friendship; else it is 0. */
int graph_half_beside(struct graph *graph, int32_t partition, int64_t user, const struct id_list *friends,
                      int64_t other, bool with_since, struct friendship *half, struct error *error);

/* A page of a user's halves that show as one of `views` (bits 1 << FRIENDSHIP_VIEW_...), by the other user's id, those above
 * `after`. since is 0 where it is not kept. One walk through the list, its asides and each day's stamps (adjacency_page). */
struct graph_entry {
    int64_t other, since;
    enum friendship_view view;
    bool rounded; /* by the user */
};
int graph_page(struct graph *graph, int32_t partition, int64_t user, unsigned views, int64_t after,
               struct graph_entry *entries, size_t limit, size_t *count, bool *more, struct error *error);
