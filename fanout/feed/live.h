/* The changes of a feed that one phone is not told yet. The next frame tells them.
 *
 *     live_change --> pending: since, version, posts that came, ids that are gone --+
 *                        |  too much, out of order, or an id that was told before    +--> a frame, live_told
 *                        v                                                           |
 *     live_stale ---> pending: stale, version ------------------------------------- +
 *
 * - Changes that follow each other become one. A stale replaces pending changes; later changes then only replace its version.
 * - A post that is gone before it was told is not told.
 * - An id is told at most once. When a post comes back whose id was told, or may have been, the phone is told to read its page. The
 *   highest LIVE_TOLD_MAX ids that were told are known; a lower one may have been told.
 *
 * Texts are those of posts/texts.h: the pending posts hold references. Pure otherwise. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "event/codec.h"
#include "posts/texts.h"
#include "watch/watch.h"

enum {
    LIVE_TOLD_MAX = 1000,
    LIVE_PENDING_MAX = 500 /* posts, and as many gone ids, of one frame; with more, the phone reads its page */
};

enum live_pending { LIVE_NOTHING, LIVE_CHANGE, LIVE_STALE };

struct live_post {
    int64_t id, author;
    struct shared_text *text;
};

/* Zero-initialised: nothing is pending. Read by all, written by live.c; but for `wait` and `session`. */
struct live_feed {
    enum live_pending pending;
    struct watch_version since, version; /* CHANGE: both; STALE: version */
    int64_t after_ms;                    /* STALE */
    struct live_post *posts;             /* CHANGE: in no order, each id once */
    int64_t *gone;                       /* the same */
    size_t post_count, post_room, gone_count, gone_room;
    int64_t *told; /* ids, rising */
    size_t told_count, told_room;
    int64_t forgotten; /* ids up to this one may have been told; 0: none */
    size_t held;       /* bytes of texts that the session's budget counts */

    struct session *session;
    struct text_wait wait;    /* for the text of one of the posts; not under way in any call here but live_unsettled */
    int64_t asked_ms;         /* when that was first asked of what is pending; 0: it was not. Of feeds.c */
    struct sight_wait *sight; /* asks whether the user may see the posts; NULL: nothing is asked. Of feeds.c */
};

void live_free(struct live_feed *live); /* frees what it points to; nothing is pending then */

void live_change(struct live_feed *live, struct texts *texts, struct watch_version since, struct watch_version version,
                 const struct feed_change *change);
void live_stale(struct live_feed *live, struct watch_version version, int64_t after_ms);
void live_drop(struct live_feed *live); /* forgets what is pending: the phone does not need it */

/* The first pending post whose text is not settled; NULL: none. */
struct live_post *live_unsettled(const struct live_feed *live);

/* The user may not see a pending post: it is no longer one. */
void live_hide(struct live_feed *live, size_t place);

/* Sorts the pending posts, newest first: for a frame. */
void live_sort(struct live_feed *live);
/* A frame told what was pending. Posts whose text is NONE were left out. */
void live_told(struct live_feed *live);
