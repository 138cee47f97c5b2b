/* Reads the topic `hot-posts`, all partitions, from the beginning, into the lists of hot posts (feed/hot.h), what moderators have hidden among
 * them, and edits of all posts into those that were edited lately (feed/edited.h), and tells those who watch (feed/watches.h). With it, the process's copy of `bans` is read.
 * The group is joined when all that was there is read: a page without it would lack posts, and a banned user could write. Loop's thread. */
#pragma once

#include "base/error.h"
#include "feed/edited.h"
#include "feed/hot.h"

struct hot_posts;
struct feed;

int hot_posts_new(struct feed *feed, struct hot_posts **posts, struct error *error);
void hot_posts_free(struct hot_posts *posts); /* NULL is fine */
struct hot *hot_posts_lists(struct hot_posts *posts);
const struct edited *hot_posts_edited(const struct hot_posts *posts); /* lives as long */

void hot_posts_second(struct hot_posts *posts); /* forgets what is too old */
