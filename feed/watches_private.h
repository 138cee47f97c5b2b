/* The insides of watches: watches.c hears of changes and takes turns, watches_tell.c tells edges what one reader's timeline has become. */
#pragma once

#include "feed/feed_private.h"
#include "feed/watched.h"
#include "feed/watches.h"
#include "watch/owner.h"

enum { WATCHES_WHAT_SIZE = 8 + 20 /* "notices:" and a user */ };

struct watches {
    const struct feed *feed;
    struct watch_owner *owner;
    struct watched_table *table;
    struct loop_timer *work;
    struct buffer content;
    struct id_list notices_due; /* users whose lists have changed */
    int64_t notices_next;       /* from this one on, the next turn looks at them */
    struct added_post *posts;   /* of one change */
    size_t post_capacity;
    struct {
        struct metric *timelines, *told, *named, *asked;
    } metrics;
};

/* watches.c: writes the name of a reader's timeline; returns its size. */
size_t watches_what_of(int64_t user, char what[WATCHES_WHAT_SIZE + 1]);

void watches_soon(struct watches *watches); /* takes a turn soon */

/* watches_notices.c: the version of a user's list; false: it cannot be read. And a turn; true: some are left. */
bool watches_notices_version(struct watches *watches, int32_t partition, int64_t user, struct watch_version *version);
bool watches_notices_work(struct watches *watches);

/* watches_tell.c: whether the reader sees the author's posts. */
int watches_shows(struct watches *watches, const struct watched *watched, int64_t author, bool *is,
                  struct error *error);

/* Tells edges the changes that are due, or the version. */
int watches_tell(struct watches *watches, struct watched *watched, struct error *error);
