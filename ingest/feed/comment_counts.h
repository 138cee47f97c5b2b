/* How many comments and likes posts have, and whether the reader likes them, for pages that show posts: asked of the comments processes, and
 * kept for a moment. Loop's thread.
 *
 *     comment_counts_ask ----> no reader, and each was heard of within a second: done at once
 *                          \-> gathered for a millisecond --> a question to each process: /peer/comments/counts
 *                                                               |
 *     done  <---- all have answered, or 40 ms are over  <-------+
 *
 * What a reader likes is asked for each time: the reader may have liked a post a moment ago, through another gateway. The counts come along.
 * Without a reader, a count that was heard of within five seconds is shown, and asked for anew without anybody waiting. A process that has
 * not answered in time is asked once in two seconds, and nobody waits for it, until it answers again: where no process has comments, pages
 * lose no time. The table is of a fixed size: a post goes when another one needs its place.
 */
#pragma once

#include "base/buffer.h"
#include "base/loop.h"
#include "service/peers.h"

struct comment_counts;

/* owners: the comments processes, of so many partitions; outlive the counts but for comment_counts_stop. */
struct comment_counts *comment_counts_new(uv_loop_t *loop, struct peers *owners, int32_t partitions);
void comment_counts_stop(
    struct comment_counts *counts); /* nothing more is asked, and pages do not wait; NULL is fine */
/* When no question is under way. NULL is fine. */
void comment_counts_free(struct comment_counts *counts);

/* Calls done once, perhaps at once, when the counts of these posts are as good as they get. reader: -1: nobody in particular. */
void comment_counts_ask(struct comment_counts *counts, const int64_t *posts, size_t count, int64_t reader,
                        void *context, void (*done)(void *context));

/* Appends ,"comments":NUMBER,"likes":NUMBER to the post that ends the body, if they are known, and for a reader ,"liked":BOOL. */
void comment_counts_put(const struct comment_counts *counts, int64_t post, int64_t reader, struct buffer *body);
