/* Bells: the notices that sessions of an edge watch (posts/notice_list.h).
 *
 *     bells_watch ---> the user's owner: the list --> pending: what the session was not sent --> session_owe ---> bells_fill
 *     bells_stale ---> asked again, once the list has another version
 *
 * The watch_edge of the feeds says when a list has another version (watch/edge.h); the edge reads it, as phones read their pages. A bell
 * asks one question at a time. The loop's thread. */
#pragma once

#include "fanout/screen_watch.h"
#include "posts/notice_list.h"

struct bells;

struct bells_options {
    uv_loop_t *loop;
    struct sessions *sessions;
    struct screen_watch *watch; /* outlives the bells, as do the next two */
    struct peers *owners;
    struct sights *sights;
    size_t offset; /* in a session, of a pointer: its bell; NULL: it has none */
    unsigned place;
};

struct bells *bells_new(const struct bells_options *options);
void bells_free(struct bells *bells); /* after the last session, and no question may be under way; NULL is fine */

/* The session's phone is told the newest notices at once, and each new one. 0, or -ENOSPC: too many sessions watch. */
int bells_watch(struct bells *bells, struct session *session);
void bells_unwatch(struct bells *bells, struct session *session);
void bells_leave(struct bells *bells, struct session *session); /* it is about to be freed */

/* "notices:USER": the partition is of that user. */
bool bells_is(const void *what, size_t size);
/* The list has another version than the session's. */
void bells_stale(struct bells *bells, struct session *session, int64_t after_ms);

struct screen_filled bells_fill(struct bells *bells, struct session *session, struct buffer *frame);
