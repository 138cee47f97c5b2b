/* The newest posts of authors who have too many followers to push their posts to each. Every feed process keeps them in memory, of all
 * partitions: it reads `hot-posts` from the beginning. Pure; one thread.
 *
 *     table: author -> | newest id | the others, rising: - |        an author with one id takes one slot: 24 bytes, 30 with
 *                      | newest id | -------> 871, 880, 902 |       those that are free; each further id 8 to 12
 *
 *     bounds (feed/hot_bounds.h): the slots of authors without new posts need not be read
 *
 * Posts may come twice and in any order. Ids at or below the horizon are forgotten: the topic keeps records for `feed.hot.days`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "feed/edited.h"
#include "feed/hot_bounds.h"

struct hot;
struct hot_author; /* an author's slot; valid until the next put, removal or expiry */

struct hot *hot_new(void);
void hot_free(struct hot *hot); /* NULL is fine */

void hot_put(struct hot *hot, int64_t author, int64_t id); /* at or below the horizon: ignored */

/* A post that was deleted. If it is there, it is known to be gone from then on: it is never put again, and pages leave it out of
 * inboxes, which backlogs and answers may have brought it to. Unknown: nothing. */
void hot_remove(struct hot *hot, int64_t author, int64_t id);
bool hot_is_gone(const struct hot *hot, int64_t id); /* above the horizon: below it, nobody asks */
bool hot_has(const struct hot *hot, int64_t author, int64_t id);

/* A post that a moderator has hidden or shown again, for the `times`th time, as of edited_put: that time is known for no longer than edits are, as
 * nobody keeps a text for longer. False: it is no news. Hidden posts stay in the lists, and are not found there. */
bool hot_moderate(struct hot *hot, int64_t id, int32_t times, bool hidden, int64_t time_ms, int64_t now_ms);
bool hot_is_hidden(const struct hot *hot, int64_t id);

int64_t hot_newest(const struct hot *hot, int64_t author); /* 0: none */

/* For pages, which look at many authors. hot_prefetch, and hot_prefetch_older: call them a while before the next. */
void hot_prefetch(const struct hot *hot, int64_t author);
const struct hot_author *hot_find(const struct hot *hot, int64_t author); /* NULL: none */
void hot_prefetch_older(const struct hot_author *author);

/* The newest of an author's ids below `before` and above `above` that is not hidden; 0: none. */
int64_t hot_before(const struct hot *hot, const struct hot_author *author, int64_t above, int64_t before);

const struct hot_bounds *hot_all_bounds(const struct hot *hot);

/* Forgets ids at or below `horizon`, which only rises. Looks at `slice` authors a call and goes on where it stopped. */
void hot_expire(struct hot *hot, int64_t horizon, size_t slice);
int64_t hot_horizon(const struct hot *hot);

struct hot_usage {
    size_t authors, ids, gone, bytes;
};
struct hot_usage hot_used(const struct hot *hot);
