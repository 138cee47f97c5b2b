/* The friend lists of owned partitions, on disk: what the topic friendships says, in the form that the join reads.
 *
 * One family a partition ("friends-7"), its keys in this order:
 *
 *     user (8)                    how many of the next kind there are (most users have none, and nobody looks for any), then
 *                                 the sorted list of FRIENDS, as friend_list.h says
 *     user (8) other (8)          a half that is anything else: state, block flags, since
 *     0xfe day (4) user other     `since` of a half that was FRIENDS when the family was built from the beginning
 *     0xff                        what the family reflects: offset, time, number of partitions; in the same batch as the rest
 *
 * and one family for all of them ("late-since"):
 *
 *     partition (4) day (4) user other    `since` of a half that became FRIENDS since then
 *
 * Hardly anybody asks for `since`: a REMOVE of the cap, and commands live a day, so that it is dropped a day later, a whole day's
 * at once. Beside the lists it would be most of what RocksDB merges, and of what look-ups of lists walk through.
 *
 * Records are queued by graph_add and applied by graph_apply, a list read and written once for all its changes.
 * Numbers are big-endian; users are below 2^63, so that a family's last two sort behind all of them. One thread.
 *
 * A family that is read from the beginning is built aside: graph_apply sorts what it is given into runs (graph_runs.h), and
 * graph_finish merges them into sorted files, which the family takes in all at once with the offset that they reflect.
 * Until then nothing of it can be read, and after a crash it is empty and says so.
 */
#ifndef ROUTER_GRAPH_H
#define ROUTER_GRAPH_H

#include "base/error.h"
#include "router/friend_list.h"
#include "router/friendship.h"
#include "store/store.h"

struct graph;

enum { GRAPH_FROM_BEGINNING = -2 }; /* an offset: the same as KAFKA_OFFSET_BEGINNING */

struct graph_options {
    const char *path; /* of the database */
    int32_t partitions;
    size_t cap;          /* of friends */
    int64_t max_age_ms;  /* a family last written longer ago has missed tombstones and is dropped */
    size_t memory_bytes; /* of RocksDB, all included, and of families being built (a quarter of it); 0: 96 MiB */
    size_t build_bytes;  /* of runs in memory, of all families being built together; more goes to disk. 0: an eighth */
    void *context;
    /* A friendship made or ended, after it was written. Not called while restoring. */
    void (*on_change)(void *context, int64_t user, int64_t other, bool made);
    /* The friendship of this record takes the user's list beyond the cap. The stored offset stays at or before it until
     * graph_release says otherwise. */
    void (*on_excess)(void *context, int32_t partition, int64_t user, int64_t other, int64_t since, int64_t offset);
};

int graph_open(const struct graph_options *options, struct graph **graph, struct error *error);
void graph_close(struct graph *graph); /* NULL is fine; what is queued is lost, and read again by its offset */

/* Opens a partition's family. *from: the offset to go on reading from, GRAPH_FROM_BEGINNING for one that is new or was too
 * old. Harmless when it is open. */
int graph_attach(struct graph *graph, int32_t partition, int64_t now_ms, int64_t *from, struct error *error);
void graph_detach(struct graph *graph, int32_t partition);
int graph_rebuild(struct graph *graph, int32_t partition, struct error *error); /* empties an attached one */

/* Queues one record of an attached partition: the user's half now (empty for a tombstone). */
void graph_add(struct graph *graph, int32_t partition, int64_t offset, int64_t user, int64_t other,
               const struct friendship *half);
size_t graph_queued(const struct graph *graph, int32_t partition);

/* Writes what is queued, and that everything before `next` is reflected. restoring: silent, and no `since` is kept of what is
 * older than a day. A family that is being built takes it for later, or is finished first when not restoring. While a
 * worker is finishing it, nothing happens: what is queued waits, and so does the caller with what it believes applied. */
int graph_apply(struct graph *graph, int32_t partition, int64_t next, int64_t now_ms, bool restoring,
                struct error *error);

/* A family being built has been given records, or a worker has it: to be read, it must be finished. */
bool graph_building(const struct graph *graph, int32_t partition);
bool graph_finishing(const struct graph *graph, int32_t partition); /* between graph_finish_begin and _end */

/* What was applied can be read from now on. Takes its time (a second for a million friendships); harmless when it is not
 * being built. An excess is told at its end. */
int graph_finish(struct graph *graph, int32_t partition, int64_t now_ms, struct error *error);

/* The same in three steps, the second on a worker thread while the graph is used as always. The family may be detached,
 * attached again or rebuilt in between. NULL: there is nothing to finish. */
struct graph_build *graph_finish_begin(struct graph *graph, int32_t partition, int64_t now_ms);
int graph_finish_run(struct graph_build *build, struct error *error);
int graph_finish_end(struct graph_build *build, int code, struct error *error); /* code: what run returned */

/* The lowest offset of an excess that is not settled yet; INT64_MAX: none. */
void graph_release(struct graph *graph, int32_t partition, int64_t hold);

/* Says again that the family reflects what it reflects (its age is counted from then), and drops what a day has made useless. */
int graph_touch(struct graph *graph, int32_t partition, int64_t now_ms, struct error *error);

int64_t graph_next(const struct graph *graph, int32_t partition); /* everything before is applied; -1: nothing */

/* A user's friends. The hot path: no allocation once the list has grown. */
int graph_friends(struct graph *graph, int32_t partition, int64_t user, struct friend_list *list, struct error *error);

/* Of several users, in rising order, each named once: cheaper than one by one. Lists by user; after a failure of no use. */
enum { GRAPH_MANY = STORE_MANY };
int graph_friends_many(struct graph *graph, int32_t partition, const int64_t *users, size_t count,
                       struct friend_list *lists, struct error *error);

/* One half, empty when there is none, and how many friends the user has (friends may be NULL). */
int graph_half(struct graph *graph, int32_t partition, int64_t user, int64_t other, struct friendship *half,
               size_t *friends, struct error *error);

/* The same, of a user whose friends are at hand (graph_friends; nothing was applied since). with_since: that of a friendship,
 * which takes a look, is wanted; else it is 0. */
int graph_half_beside(struct graph *graph, int32_t partition, int64_t user, const struct friend_list *friends,
                      int64_t other, bool with_since, struct friendship *half, struct error *error);

/* A page of a user's halves that show as one of `views` (bits 1 << FRIENDSHIP_VIEW_...), by the other user's id, those above
 * `after`. since is 0 where it is not kept. */
struct graph_entry {
    int64_t other, since;
    enum friendship_view view;
};
int graph_page(struct graph *graph, int32_t partition, int64_t user, unsigned views, int64_t after,
               struct graph_entry *entries, size_t limit, size_t *count, bool *more, struct error *error);

/* All families as they are, each with the offset that it reflects (store_checkpoint). On a worker thread. */
int graph_checkpoint(struct graph *graph, const char *path, struct error *error);

/* Written out and merged: what is left is what the disk needs. Takes its time. */
int graph_compact(struct graph *graph, int32_t partition, struct error *error);

struct graph_usage {
    struct store_usage store;
    size_t build; /* bytes: runs in memory, and queues */
};
struct graph_usage graph_usage(struct graph *graph);

#endif
