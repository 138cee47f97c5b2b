/* The newest live posts of many authors, merged; read from the store in slices of bounded work, so that nothing else waits for long.
 *
 *     authors 7 9 12 ...   each: newest first, until it is below what is kept anyway --> heap of the newest `most` --> sorted
 *
 * The cut is the highest id of a post that was left out: all live posts of these authors above it are there. Posts that
 * come between two slices may be missing: an inbox gets them by a push. One thread.
 */
#pragma once

#include "feed/posts.h"

struct newest;

struct newest_wish {
    int64_t above, before; /* posts above this id, 0: all, and below this one */
    size_t each;           /* posts of an author, at least 1 */
    size_t most;           /* of all, at least 1 */
    bool hidden;           /* also those that moderators have hidden: they may be shown again */
};

struct newest *newest_new(void);
void newest_free(struct newest *newest);                                  /* NULL is fine */
void newest_begin(struct newest *newest, const struct newest_wish *wish); /* forgets what it has */

enum { NEWEST_SEEK_WORK = 10 /* finding an author costs as much as passing so many posts, about a microsecond each */ };

/* Goes on reading; the authors stay the same from newest_begin on. *work: the work that may be done. The work that was done is taken
 * off it, and may exceed it by the beginning of one author. 1: more is left, 0: all is read, or a negative code: begin anew. */
int newest_read(struct newest *newest, struct posts *posts, int32_t partition, const int64_t *authors, size_t count,
                size_t *work, struct error *error);

/* Returns the posts, newest first, once all is read. They are valid until the next newest_begin. */
const struct post_ref *newest_posts(struct newest *newest, size_t *count, int64_t *cut);
