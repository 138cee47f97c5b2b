/* The changes of one thread that one phone is not told yet. The next frame tells them.
 *
 *     live_thread_change --> a change: since, version, items, counters --+
 *     live_thread_show ----> the same, and sampled                        +--> a frame each, the change first
 *     live_thread_stale ---> stale: version                             --+
 *
 * - Changes that follow each other become one, with the newest state of each comment. A stale replaces pending changes, but for the
 *   comments that are gone, which are told at once, in a sampled frame. Later changes then add to those, and replace its version.
 * - What is shown to every page makes the frame a sampled one: the phone's page keeps its version.
 * - Of a sampled frame, the oldest new comments are left out where they are too many. Else the phone then reads its page.
 *
 * Pure. One thread. */
#pragma once

#include "fanout/comments/change.h"
#include "subjects/subject.h"
#include "watch/watch.h"

enum {
    LIVE_THREAD_PENDING_MAX = 1000,        /* items, and as many counters, of one frame */
    LIVE_THREAD_PENDING_BYTES = 256 << 10, /* of its items */
};

/* A pending item: the item of a change. */
struct live_comment {
    int64_t id;
    struct thread_told *told;
    size_t place;
};

/* Zero-initialised: nothing is pending. Written by live_thread.c, but for the last four. */
struct live_thread {
    bool changed;   /* a change is pending: */
    bool sampled;   /* for every page */
    bool only_gone; /* nothing but comments that are gone, and sampled, as the page is being read or was read again */
    int64_t since, version, total, likes; /* likes: of the subject itself */
    struct live_comment *items;           /* by rising id */
    struct thread_counters *counters;
    size_t item_count, item_room, counter_count, counter_room;
    size_t bytes; /* of the items */
    bool stale;   /* that is pending, too */
    int64_t stale_version, after_ms;
    struct live_thread *next;   /* of the session */
    struct thread_sight *sight; /* asks whether the user may see the post; NULL: nothing is asked. Of product.c */
    int64_t post;               /* whose subject it is; 0: it is another one */
    char subject[SUBJECT_MAX + 1];
};

static inline bool live_thread_pending(const struct live_thread *thread) { return thread->changed || thread->stale; }
void live_thread_drop(struct live_thread *thread); /* nothing is pending any more, and no memory is held */
void live_thread_told(struct live_thread *thread); /* the change is in a frame; or else the stale */

void live_thread_change(struct live_thread *thread, struct thread_told *told, int64_t since, int64_t version);
void live_thread_show(struct live_thread *thread, struct thread_told *told);
void live_thread_stale(struct live_thread *thread, int64_t version, int64_t after_ms);
/* The user may not see what is pending: the phone is only told to read its page. */
void live_thread_deny(struct live_thread *thread);
/* The phone has read its page again (NULL: it does not say which): only what is gone since then is still pending. */
void live_thread_read(struct live_thread *thread, const int64_t *version);

static inline const struct thread_item *live_comment_item(const struct live_comment *comment) {
    return &comment->told->items[comment->place];
}

/* Writes a frame (docs/PROTOCOL.md): begins with ws_frame_start, and replaces the buffer's content. */
void frame_comments(struct buffer *frame, const struct live_thread *thread); /* a change is pending */
void frame_stale_thread(struct buffer *frame, const struct live_thread *thread);
