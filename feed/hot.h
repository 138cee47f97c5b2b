/* The newest posts of authors who have too many followers to push their posts to each. Every feed process keeps them in memory, of all
 * partitions: it reads `hot-posts` from the beginning. Pure; one thread.
 *
 *     table: author -> | newest id | the others, rising: - |        an author with one id takes one slot: 24 bytes, 30 with
 *                      | newest id | -------> 871, 880, 902 |       those that are free; each further id 8 to 12
 *
 *     bounds: an author's hash -> a time (4 bytes) after which none of the authors with this hash has posted: most authors of a
 *             page have nothing new, and their slots need not be read
 *
 * Posts may come twice and in any order. Ids at or below the horizon are forgotten: the topic keeps records for `feed.hot.days`.
 */
#ifndef FEED_HOT_H
#define FEED_HOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hot;

enum { HOT_BOUND_SHIFT = 32 };

struct hot *hot_new(void);
void hot_free(struct hot *hot); /* NULL is fine */

void hot_put(struct hot *hot, int64_t author, int64_t id); /* at or below the horizon: ignored */

/* A post that was deleted. If it is there, it is known to be gone from then on: it is never put again, and pages leave it out of
 * inboxes, which backlogs and answers may have brought it to. Unknown: nothing. */
void hot_remove(struct hot *hot, int64_t author, int64_t id);
bool hot_is_gone(const struct hot *hot, int64_t id); /* above the horizon: below it, nobody asks */
bool hot_has(const struct hot *hot, int64_t author, int64_t id);

/* An author's ids, falling, below `before` and above `above`, at most `max`: returns how many were written to `ids`. */
size_t hot_of(const struct hot *hot, int64_t author, int64_t above, int64_t before, int64_t *ids, size_t max);
int64_t hot_newest(const struct hot *hot, int64_t author);      /* 0: none. One look-up */
void hot_prefetch(const struct hot *hot, int64_t author);       /* call it a while before one of the two above */
void hot_prefetch_older(const struct hot *hot, int64_t author); /* call it a while before hot_of, after the others */

/* The time of an id in seconds of 1,024 ms, from 1 on. hot_bounds: of each author a time that is not before that of his newest id; 0:
 * the author has none. Cheaper than look-ups. No author is negative. */
static inline uint32_t hot_bound(int64_t id) { return (uint32_t)(id >> HOT_BOUND_SHIFT) + 1; }
void hot_bounds(const struct hot *hot, const int64_t *authors, size_t count, uint32_t *bounds);

/* Forgets ids at or below `horizon`, which only rises. Looks at `slice` authors a call and goes on where it stopped. */
void hot_expire(struct hot *hot, int64_t horizon, size_t slice);
int64_t hot_horizon(const struct hot *hot);

struct hot_usage {
    size_t authors, ids, gone, bytes;
};
struct hot_usage hot_used(const struct hot *hot);

#endif
