/* How many comments posts have, for pages that show posts: asked of the comments processes, and kept for a moment. Loop's thread.
 *
 *     comment_counts_ask ----> each was heard of within a second: done at once
 *                          \-> gathered for a millisecond --> a question to each process: /peer/comments/counts
 *                                                               |
 *     done  <---- all have answered, or 40 ms are over  <-------+
 *
 * A count that was heard of within five seconds is shown, and asked for anew without anybody waiting. A process that has not answered in
 * time is asked once in two seconds, and nobody waits for it, until it answers again: where no process has comments, pages lose no time.
 * The table is of a fixed size: a post goes when another one needs its place.
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

/* Calls done once, perhaps at once, when the counts of these posts are as good as they get. */
void comment_counts_ask(struct comment_counts *counts, const int64_t *posts, size_t count, void *context,
                        void (*done)(void *context));

/* Appends ,"comments":NUMBER to the post that ends the body, if the number is known. */
void comment_counts_put(const struct comment_counts *counts, int64_t post, struct buffer *body);
