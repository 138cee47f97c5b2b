/* Carries out the effects of records that were read: items for partitions of `timelines`, `timeline-requests` and `hot-posts`. They
 * are made from the state of now, not of the record: effects are carried out at least once, perhaps long after, and receivers
 * bear that.
 *
 *     follows     user follows other          Request to the other's owner      (the user's owner)
 *                 other is followed by user   Backlog to the user's owner       (the other's owner; a Request to itself, if the
 *                                                                                backlog takes long)
 *     posts       a live post                 Push to its followers, or Hot if there are more than push_max
 *                 a deleted post              HotGone; and Gone to its followers, unless there are more than push_max and the hot lists
 *                                             have the post, or had it: there may have been fewer when it was written
 *                 a hidden post, or one       the same as a live post, and Moderated: pages leave the hidden one out, and have it again
 *                 that is shown again         when it is shown again
 *     timelines   Begin                       Request to the owners of all whom the reader follows, by partition; a partition that
 *                                             the Begin names gets one even if the reader follows nobody there any more. Whom
 *                                             the reader follows elsewhere by now is asked as after a new follow
 *     requests    Request                     Answer, or Backlog if its number is -1
 *
 * A push to few followers is carried out at once. One to many goes out in slices, so that others' posts pass between them. A request
 * waits in a queue and is answered in slices as well: its reader may follow thousands. effects_run carries out a slice of either in
 * turn, and is called until it says that nothing is left.
 *
 *     pushes    front { post 907, followers above 5120 } -> { post 911, above 0 } -> { post 899, above 77002 } back
 *
 * One thread.
 */
#pragma once

#include "feed/hot.h"
#include "feed/posts.h"
#include "feed/relations.h"
#include "trace/tracer.h"

struct effects;

struct effects_options {
    struct relation_lists *relations;
    struct posts *posts;
    const struct hot *lists; /* of hot posts, as every process has them */
    struct tracer *tracer;   /* pushes that take longer stay in their traces; NULL: nothing is traced */
    int32_t partitions;
    size_t push_max; /* followers; more: Hot */
    size_t backlog;  /* posts that an author sends to a new follower, and of each author in an answer; at least 1 */
    size_t answer;   /* posts of a whole answer; no fewer than an inbox holds, as more would be evicted there at once */
    void *context;
    /* Puts one item for these readers (or authors) of one partition into the outbox. */
    void (*timeline)(void *context, int32_t partition, const int64_t *readers, size_t count,
                     const struct timeline_item *item);
    void (*request)(void *context, int32_t partition, const int64_t *authors, size_t count,
                    const struct timeline_item *item);
    void (*hot)(void *context, int32_t partition, int64_t author, const struct timeline_item *item);
};

struct effects *effects_new(const struct effects_options *options);
void effects_free(struct effects *effects); /* NULL is fine */
void effects_set_push_max(struct effects *effects, size_t push_max);

/* Of one record each, of an attached and live partition. A failure may leave a part of the effects carried out: the caller repeats
 * all of them. */
int effects_half(struct effects *effects, int32_t partition, const struct relation_half *half, bool set,
                 struct error *error);
int effects_post(struct effects *effects, int32_t partition, int64_t author, int64_t id, int64_t offset,
                 struct error *error);
int effects_begin(struct effects *effects, int32_t partition, int64_t reader, int64_t request, const int64_t *wanted,
                  size_t count, struct error *error);
/* Puts a request into the queue; offset: of its record. */
void effects_request(struct effects *effects, int32_t partition, int64_t offset, const int64_t *authors, size_t count,
                     int64_t reader, int64_t request);

/* Carries out a slice: of the push at the front, for at most so many readers (at least 1), which lets the next one to the front; or of
 * the requests at the front, with about so many moves within the store (posts_moves). 1: more is left, 0: nothing. After a failure
 * the push stays as it was, and the request begins anew. */
int effects_run(struct effects *effects, size_t work, struct error *error);
int32_t effects_failed(const struct effects *effects);         /* the partition of the slice that failed last */
size_t effects_pushes(const struct effects *effects);          /* pushes under way */
size_t effects_waiting_authors(const struct effects *effects); /* of all requests that are not answered */
void effects_lower(const struct effects *effects,
                   int64_t *offsets); /* by partition: lowered to its first request that is not answered */
/* The lowest offset of `posts` whose push is not carried out to the end; INT64_MAX: none. Looks at each push under way. */
int64_t effects_held(const struct effects *effects, int32_t partition);
/* The partition is no longer this process's, or all of its effects are carried out again. Returns the lowest offset of a request that
 * was not answered; INT64_MAX: none. */
int64_t effects_drop(struct effects *effects, int32_t partition);

/* The partitions of those whom a reader follows, rising: for a Begin. wanted: room for all partitions. */
int effects_wanted(struct effects *effects, int32_t partition, int64_t reader, int64_t *wanted, size_t *count,
                   struct error *error);
