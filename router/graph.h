/* The friend lists of owned partitions on disk: the content of the topic friendships, in the form that the join reads.
 *
 * The lists are lib/adjacency's, of one kind: a user's friends are the members, marked where one sees the other rounded, and every other half that is not empty
 * (a request, a block) is an aside. A list up to twice the cap is one value. `since` is a stamp. For a friendship it is kept for a day or two,
 * because only a REMOVE of the cap needs it, and commands live for a day; for other halves it stays.
 *
 * Functions return the codes of lib/adjacency. When a list is damaged on disk they return -EBADMSG and call on_damaged; graph_rebuild
 * and reading the topic anew mend it.
 */
#ifndef ROUTER_GRAPH_H
#define ROUTER_GRAPH_H

#include "adjacency/adjacency.h"
#include "base/error.h"
#include "router/friendship.h"

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
     * graph_release allows it. */
    void (*on_excess)(void *context, int32_t partition, int64_t user, int64_t other, int64_t since, int64_t offset);
    /* A list of the partition is damaged. Called from within what reads it, so it may only take note. May be NULL. */
    void (*on_damaged)(void *context, int32_t partition, const struct error *error);
};

int graph_open(const struct graph_options *options, struct graph **graph, struct error *error);
void graph_close(struct graph *graph); /* NULL is fine; queued records are lost, and read again by their offset */

/* Opens a partition's family. *from: the offset to go on reading from, GRAPH_FROM_BEGINNING for one that is new or was too
 * old. Harmless when it is open. */
int graph_attach(struct graph *graph, int32_t partition, int64_t now_ms, int64_t *from, struct error *error);
void graph_detach(struct graph *graph, int32_t partition);
int graph_rebuild(struct graph *graph, int32_t partition, struct error *error); /* empties an attached one */

/* Queues one record of an attached partition: the user's half now (empty for a tombstone). */
void graph_add(struct graph *graph, int32_t partition, int64_t offset, int64_t user, int64_t other,
               const struct friendship *half);
size_t graph_queued(const struct graph *graph, int32_t partition);

/* Writes the queued records, and that everything before `next` is reflected. restoring: makes no callback, and keeps no `since` that is
 * older than a day. A family that is being built keeps the records for later; if not restoring, it is finished first. While a worker
 * is finishing it, the call does nothing: the records stay in the queue, and the caller must not count them as applied. */
int graph_apply(struct graph *graph, int32_t partition, int64_t next, int64_t now_ms, bool restoring,
                struct error *error);

/* The family is being built: it has records, or a worker has it. It must be finished before it can be read. */
bool graph_building(const struct graph *graph, int32_t partition);
bool graph_finishing(const struct graph *graph, int32_t partition); /* between graph_finish_begin and _end */

/* Finishes a family, so that it can be read. Takes a second for a million friendships; harmless when the family is not being built.
 * Calls on_excess at its end. */
int graph_finish(struct graph *graph, int32_t partition, int64_t now_ms, struct error *error);

/* The same in three steps, the second on a worker thread while the graph is used as always. The family may be detached,
 * attached again or rebuilt in between. NULL: there is nothing to finish. */
struct adjacency_build *graph_finish_begin(struct graph *graph, int32_t partition, int64_t now_ms);
int graph_finish_run(struct adjacency_build *build, struct error *error);
int graph_finish_end(struct adjacency_build *build, int code, struct error *error); /* code: what run returned */

/* The lowest offset of an excess that is not settled yet; INT64_MAX: none. */
void graph_release(struct graph *graph, int32_t partition, int64_t hold);

/* Writes the family's offset again, so that its age counts from now, and drops `since` values that are too old to be of use. */
int graph_touch(struct graph *graph, int32_t partition, int64_t now_ms, struct error *error);

int64_t graph_next(const struct graph *graph, int32_t partition); /* everything before is applied; -1: nothing */

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

/* All families as they are, each with the offset that it reflects (store_checkpoint). On a worker thread. */
int graph_checkpoint(struct graph *graph, const char *path, struct error *error);

/* Writes the family out and merges it fully, so that it takes no more disk than it needs. May take long. */
int graph_compact(struct graph *graph, int32_t partition, struct error *error);

struct adjacency_usage graph_usage(struct graph *graph);

#endif
