/* Live home timelines and notices: tells edges of the changes to watched timelines and lists of this process's partitions.
 *
 *     feed-watches --------> lib/watch (watch/owner.h): who watches what, versions, roll calls ----+
 *     timelines, follows --> changes of readers who are watched (feed/watched.h)                   +--> deliveries
 *     hot-posts -----------> those who are registered under the author                             |
 *                                |  in slices                                                      |
 *                                v                                                                 |
 *                            the newest posts and the version --- change, or version --------------+
 *
 * Of notices the version is told. A new post or a deletion is told with its ids. A follow, an unfollow, a mute and a backlog change the version only: phones read their
 * page again, and so does an edit of one of its newest posts, or one that moderators show again; one that they hide is told as a deletion. The first watch of a reader has the inbox begun, if there is none, and keeps it
 * from being given up. Loop's thread.
 */
#pragma once

#include "base/loop.h"
#include "feed/timelines.h"
#include "tasks/tasks.h"

struct watches;
struct feed;

struct watches *watches_new(const struct feed *feed);
void watches_free(struct watches *watches); /* NULL is fine */

extern const struct state_kind WATCHES_KIND; /* nobody is told anything before a partition is live */

/* Note a change that is in the stores of a live partition: a half of a user, an item of `timelines`, or a hot post. */
void watches_half(struct watches *watches, const struct relation_half *half);
void watches_item(struct watches *watches, const int64_t *readers, size_t count, const struct timeline_item *item);
void watches_hot(struct watches *watches, int64_t author, int64_t id, bool first); /* first: the author's only one */
void watches_hot_gone(struct watches *watches, int64_t author, int64_t id);
void watches_edited(struct watches *watches, int64_t id);
void watches_moderated(struct watches *watches, int64_t author, int64_t id, bool hidden);

void watches_notices(struct watches *watches, int64_t user); /* the list of notices of a user of a live partition */
bool watches_notices_watched(const struct watches *watches, int32_t partition, int64_t user);

void watches_second(struct watches *watches);
