/* A screen's side of watching (watch/edge.h) at work on the loop: it goes on in turns, and sessions that were told something are flushed
 * after each.
 *
 *     show, hide, leave, take, route ----> watch_edge ----> the options' write and tell_...
 *                                              ^-- a slice a turn of the loop, while there is work; else when it wants one
 *
 * A session is known to the watch_edge by its address. The loop's thread. */
#pragma once

#include "base/loop.h"
#include "deliver/envelope.h"
#include "fanout/sessions.h"
#include "watch/edge.h"

struct screen_watch;

/* options: of the watch_edge; its watcher is drawn here. */
struct screen_watch *screen_watch_new(uv_loop_t *loop, struct sessions *sessions,
                                      const struct watch_edge_options *options);
void screen_watch_free(struct screen_watch *watch); /* NULL is fine */

void screen_watch_route(struct screen_watch *watch, int32_t route); /* deliveries come by it from now on; -1: by none */
/* 0, or -EBADMSG: malformed. A delivery that finds no room is counted; roll calls make it good. */
int screen_watch_take(struct screen_watch *watch, const struct deliver_envelope *envelope);

/* As watch_edge_show, watch_edge_hide and watch_edge_leave. */
int screen_watch_show(struct screen_watch *watch, const struct session *session, const void *what, size_t size,
                      const struct watch_version *version);
void screen_watch_hide(struct screen_watch *watch, const struct session *session, const void *what, size_t size);
void screen_watch_leave(struct screen_watch *watch, const struct session *session);

void screen_watch_stats(const struct screen_watch *watch, struct watch_edge_stats *stats);

/* The session of a number that the watch_edge's callbacks are given. */
static inline struct session *screen_watch_session(uint64_t number) { return (struct session *)(uintptr_t)number; }
