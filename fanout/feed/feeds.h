/* The feeds that sessions of an edge watch. This module connects the edge's side of watching (watch/edge.h) and the texts of
 * posts (posts/texts.h) with sessions.
 *
 *     feeds_watch --------> watch_edge ----> write: topic feed-watches
 *     feeds_take ---------> watch_edge ----> live_change, live_stale ----> texts are there ----> session_owe ----> feeds_fill
 *                                                                 fetch: authors' owners, also asked who may see them
 *
 * A session's part of the memory is a pointer, NULL until the session watches for the first time. A session watches two things at
 * most: "feed:USER" of its user, and the user's notices (fanout/feed/bells.h). The watch_edge does its work in turns (fanout/screen_watch.h). The loop's thread.
 */
#pragma once

#include "base/metrics.h"
#include "fanout/screen.h"
#include "fanout/sessions.h"
#include "posts/texts.h"
#include "watch/watch.h"

struct feeds;

struct feeds_options {
    uv_loop_t *loop;
    struct metrics *metrics;
    struct sessions *sessions;
    struct profiles *profiles;
    struct sights *sights; /* outlive the feeds */
    size_t offset;         /* of the pointer in a session */
    unsigned place;
    int32_t partitions;  /* of users */
    size_t sessions_max; /* that watch at once */
    size_t texts_max;
    int64_t texts_ms;
    void *context;
    int (*write)(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                 size_t value_size); /* as in struct watch_edge_options */
    void (*fetch)(void *context, int32_t partition, const char *path, int timeout_ms,
                  void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                  void *done_context); /* as in struct texts_options */
    void (*notices_stale)(void *context, struct session *session, int64_t after_ms);
};

struct feeds *feeds_new(const struct feeds_options *options);
void feeds_free(struct feeds *feeds); /* after the last session, and no fetch may be under way; NULL is fine */

void *feeds_context(const struct feeds *feeds); /* the options' */
struct screen_watch *feeds_watching(const struct feeds *feeds);

/* Functions of a screen (fanout/screen.h), whose product the feeds are: */
void feeds_route(void *feeds, int32_t route); /* deliveries come by it from now on; -1: by none */
int feeds_take(void *feeds, int32_t route, const struct deliver_envelope *envelope); /* 0, or -EBADMSG: malformed */
void feeds_profile_changed(void *feeds, int64_t user);
void feeds_produced(void *feeds, void *opaque, int code, const struct topic *topic);
void feeds_leave(void *feeds, struct session *session); /* it is about to be freed */
struct screen_filled feeds_fill(void *feeds, struct session *session, struct buffer *frame);

/* The session's phone has a page of that version (NULL: the phone did not name one), and is told of every change after it. A
 * repeated call names the version of the phone's new page. 0, or -ENOSPC: too many sessions watch. */
int feeds_watch(struct feeds *feeds, struct session *session, const struct watch_version *version);
void feeds_unwatch(struct feeds *feeds, struct session *session);
