/* The edge's side of watching (watch/watch.h): knows which sessions of this process show which things, and tells them of changes.
 *
 *      watch_edge_show(session, what, version) ----> things and their sessions ----> write(): watch records, tombstones,
 *      watch_edge_hide, watch_edge_leave             |                                         roll calls
 *      watch_edge_take(delivery) --> queue --------> |  ---------------------------> tell_change(), tell_stale()
 *      watch_edge_continue(now)  carries out, a slice a call
 *
 * One object serves one topic of watches. The caller has a number for each session, and says in which partition a thing lies.
 * watch_edge_continue does long work in slices: writing changed watches, telling the sessions of a popular thing, and roll calls. Each
 * partition has its roll call at another moment of the minute.
 *
 * Memory is bounded by `things`, by `session_things` for each session, by `queue_bytes` of deliveries, and by `replay_bytes`.
 *
 * Callbacks may call watch_edge_show, watch_edge_hide and watch_edge_leave, and no other function here; those that come from within
 * watch_edge_show may call none. One thread.
 */
#pragma once

#include "trace/tracer.h"
#include "watch/watch.h"

struct watch_edge;

struct watch_edge_options {
    uint64_t watcher;      /* a random number, another one in each process that ever ran */
    int32_t partitions;    /* of the topic of watches; more than 0 */
    size_t things;         /* the most things that the edge shows; 0: 100,000 */
    size_t session_things; /* the most that one session shows; 0: 32 */
    size_t slice;          /* records written or sessions told in one call of watch_edge_continue; 0: 1,000 */
    size_t queue_bytes;    /* of deliveries that wait; 0: 8 MiB */
    size_t
        replay_bytes; /* of the latest changes of a thing, which are told to pages that are a little older; 0: none */
    size_t replay_total;     /* of all things together, those with the newest changes; 0: 32 MiB */
    int64_t stale_step_ms;   /* n sessions whose pages become stale at once are spread over n times that; 0: 5 */
    int64_t stale_spread_ms; /* but over no more than this; 0: 5,000 */
    struct tracer *tracer;   /* of the deliveries, which are told within the scopes that they came in; NULL: none */
    void *context;

    /* The partition of a thing, 0 to partitions - 1. */
    int32_t (*partition)(void *context, const void *what, size_t size);
    /* Writes a record to the partition, copying it; value NULL: a tombstone. 0, or -EAGAIN when there is no room now: the edge
     * tries again. Records of one partition must keep their order. */
    int (*write)(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                 size_t value_size);
    /* The content of the calls of tell_change and tell_any that follow, so that a product may read it once for all sessions. It is
     * valid until this callback returns. NULL: not wanted. */
    void (*content)(void *context, const void *content, size_t size);
    /* The session's page has the version `since`, and becomes one of `version` by the content. */
    void (*tell_change)(void *context, uint64_t session, const void *what, size_t size, struct watch_version since,
                        struct watch_version version, const void *content, size_t content_size);
    /* The content is for every page. NULL: such content is left out. */
    void (*tell_any)(void *context, uint64_t session, const void *what, size_t size, const void *content,
                     size_t content_size);
    /* The session is to read its page after so many milliseconds; the page is to have `version`. */
    void (*tell_stale)(void *context, uint64_t session, const void *what, size_t size, struct watch_version version,
                       int64_t after_ms);
};

/* The callbacks and the numbers are copied. now_ms: any clock that does not jump. */
struct watch_edge *watch_edge_new(const struct watch_edge_options *options, int64_t now_ms);
void watch_edge_free(struct watch_edge *edge); /* NULL is fine; nothing is written or told */

/* The edge reads deliveries at this route from now on; -1: at none. Without a route it writes nothing, and writes all of
 * its watches anew when it has one. */
void watch_edge_route(struct watch_edge *edge, int32_t route);

/* The session shows a thing, and its page has that version (NULL: it did not say, and is told the version as soon as the edge
 * knows it). A repeated call says which version the page has now. 0; -EINVAL: an empty or too long what; -E2BIG: the session
 * shows too many things; -ENOSPC: the edge does. */
int watch_edge_show(struct watch_edge *edge, uint64_t session, const void *what, size_t size,
                    const struct watch_version *version);
void watch_edge_hide(struct watch_edge *edge, uint64_t session, const void *what, size_t size); /* unknown: nothing */
void watch_edge_leave(struct watch_edge *edge, uint64_t session); /* the session is over; unknown: nothing */

/* Takes a delivery and copies it. 0; -EBADMSG: malformed; -EAGAIN: too many wait. After the latter the caller may try again once
 * watch_edge_continue has run, or forget the delivery: then roll calls repair it within three minutes. */
int watch_edge_take(struct watch_edge *edge, const void *payload, size_t size);

/* Does a slice of what there is to do. Returns after how many milliseconds it wants to be called again: 0 when something is left. */
int64_t watch_edge_continue(struct watch_edge *edge, int64_t now_ms);

struct watch_edge_stats {
    size_t things, seats, sessions; /* now; a seat is one session that shows one thing */
    size_t queued_bytes;            /* now: deliveries that wait */
    uint64_t written, roll_calls;   /* records so far: watches and tombstones; roll calls */
    uint64_t changes, stales;       /* told to sessions so far */
    uint64_t replayed;              /* of the changes, those that were told again to a page that was older */
    size_t replay_bytes;            /* now: of the latest changes that are kept */
    uint64_t rewrites;              /* times that an owner asked for a partition's watches anew */
    uint64_t refused;               /* deliveries that found no room */
};
void watch_edge_stats(const struct watch_edge *edge, struct watch_edge_stats *stats);
