/* The nearby screens of an edge's sessions: each session's list, what its phone is told of it, and when.
 *
 * A session's view is open from its first place on. Before that nothing is told, and deliveries pass it by.
 *
 * The lists share the moves that friends have reported (lists.h). Room for moves comes in two halves. While one fills, lists that
 * have moves of the other pending are settled, a few with each move; so none has when that half's turn comes, and the loop is not
 * held up by settling all of them at once.
 *
 *     | 3 4 5 6 | 1 2 - - |     views ---> view ---> view ---> view ---> NULL
 *                  ^ put                             ^ unsettled: this one and the rest may have 3 to 6 pending
 *
 * Most have been told by then, which settled them. A view that was opened since the half began has nothing of the other.
 *
 * Loop's thread.
 */
#pragma once

#include "fanout/clock.h"
#include "fanout/nearby/faces.h"
#include "fanout/nearby/nearby.h"
#include "fanout/nearby/uplink.h"
#include "fanout/screen.h"
#include "fanout/sessions.h"
#include "fanout/wheel.h"

struct view { /* read by the functions below, written by view.c; all zero: not open */
    /* Every delivery looks at these, in one cache line with struct session: up to the list's pending. */
    bool open;
    bool shares;      /* its user is opted in */
    bool inactive;    /* its own last report is too old: its list is empty */
    bool paged;       /* the first page was sent */
    bool page_wanted; /* a page is to be sent as soon as the phone takes it */
    struct nearby list;

    /* A flush looks at these, up to the reporter's times. */
    struct wheel_timer expiry; /* when nearby_expire must look, or the view goes inactive */
    int64_t first_page_ms;     /* clock_coarse_ms */
    struct reporter reporter;

    struct nearby_cursor page_after; /* of the page that is wanted */
    struct view *next, **link;       /* views->first */
};

struct views;

struct views_options {
    struct sessions *sessions;
    const struct protocol_clock *clock;
    size_t offset;  /* of a session's view in its memory */
    unsigned place; /* the screen's */
    double radius_m;
    int64_t inactive_ms, first_page_ms;
    struct faces *faces; /* borrowed */
};

struct views *views_new(const struct views_options *options);
void views_free(struct views *views); /* after the last view; NULL is fine */

/* The session's first place: shares: its user is opted in. */
void view_open(struct views *views, struct uplink *uplink, struct view *view, bool shares);
/* It is about to be freed; also one that was never opened. */
void view_close(struct views *views, struct uplink *uplink, struct view *view);

/* A friend's report, the same for all it is for: nearby_note then says it to each. */
uint32_t views_move(struct views *views, const struct lists_move *move);
void views_void(struct views *views, const struct map *users); /* lists_void */
void views_expire(struct views *views);                        /* the protocol's clock has moved on */

void view_changed(struct views *views, struct view *view);  /* its list may have changed */
void view_moved(struct views *views, struct view *view);    /* its own place has changed */
void view_answered(struct views *views, struct view *view); /* a Roster came */
void view_share(struct view *view, bool shares);
void view_first_page(struct views *views, struct view *view); /* if it is not sent yet, nor wanted */
void view_empty(struct views *views, struct view *view);      /* its user has opted out */
void view_want_page(struct views *views, struct view *view, struct nearby_cursor after);
int64_t view_deadline(const struct view *view); /* when view_due must be called; INT64_MAX: never */
void view_due(struct views *views, struct view *view);
struct screen_filled view_fill(struct views *views, struct view *view, struct buffer *frame);

/* Have the processor fetch what view_fill will look at: first the view itself, then its list's tags, then the slots. */
static inline void view_fetch(const struct view *view) {
    for (size_t line = 0; line < offsetof(struct view, reporter.session); line += 64)
        __builtin_prefetch((const char *)view + line, 1);
}
static inline void view_fetch_tags(const struct view *view) { nearby_prefetch_tags(&view->list); }
static inline void view_fetch_slots(const struct view *view) { nearby_prefetch(&view->list); }

static inline struct session *view_session(const struct view *view) { return view->reporter.session; }
static inline struct reporter *view_reporter(struct view *view) { return &view->reporter; }
static inline bool view_is_open(const struct view *view) { return view->open; }
static inline bool view_shares(const struct view *view) { return view->shares; }
static inline bool view_is_inactive(const struct view *view) { return view->inactive; }
static inline struct nearby *view_list(struct view *view) { return &view->list; }
static inline struct view *view_next(const struct view *view) { return view->next; }
struct view *views_first(const struct views *views);     /* the newest; the others by view_next */
struct view *views_unsettled(const struct views *views); /* the next one that is settled; NULL: all are */
size_t views_count(const struct views *views);           /* open ones */
/* Of the view whose reporter it is. */
static inline struct view *view_of_reporter(struct reporter *reporter) {
    return (struct view *)(void *)((char *)reporter - offsetof(struct view, reporter));
}
