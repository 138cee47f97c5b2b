#include "fanout/nearby/view.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fanout/nearby/frames.h"
#include "fanout/nearby/lists.h"

enum { HALF = LISTS_MOVES / 2, EXPIRY_STEP_MS = 1000 };

static const struct nearby_cursor FIRST_PAGE = {-1, -1};

struct views {
    struct views_options options;
    struct lists *lists;
    struct view *first;
    struct view *unsettled; /* views_move: from here on moves of the other half may be pending */
    size_t count;
    struct wheel expiries; /* by the protocol's clock */
};

struct views *views_new(const struct views_options *options) {
    struct views *views = MEM_NEW(&(struct views){.options = *options, .lists = lists_new()});
    wheel_init(&views->expiries, EXPIRY_STEP_MS, protocol_now(options->clock));
    return views;
}

void views_free(struct views *views) {
    if (!views) return;
    wheel_free(&views->expiries);
    lists_free(views->lists);
    free(views);
}

/* By its place in memory: what the reporter says of it lies in another cache line. */
static struct session *session_of(const struct views *views, const struct view *view) {
    return session_of_part(view, views->options.offset);
}

struct view *views_first(const struct views *views) {
    return views->first;
}

struct view *views_unsettled(const struct views *views) {
    return views->unsettled;
}

size_t views_count(const struct views *views) { return views->count; }

void view_open(struct views *views, struct uplink *uplink, struct view *view, bool shares) {
    *view = (struct view){
        .open = true,
        .shares = shares,
        .first_page_ms = clock_coarse_ms() + views->options.first_page_ms,
        .next = views->first,
        .link = &views->first,
        .reporter.before = view->reporter.before,
    };
    nearby_init(&view->list, views->lists, views->options.radius_m);
    if (view->next) view->next->link = &view->next;
    views->first = view;
    views->count++;
    uplink_begin(uplink, &view->reporter, session_of(views, view), &view->list);
    session_schedule(views->options.sessions, session_of(views, view));
}

void view_close(struct views *views, struct uplink *uplink, struct view *view) {
    if (!view->open) return;
    uplink_end(uplink, &view->reporter);
    wheel_clear(&views->expiries, &view->expiry);
    if (views->unsettled == view) views->unsettled = view->next;
    *view->link = view->next;
    if (view->next) view->next->link = view->link;
    views->count--;
    nearby_free(&view->list);
    view->open = view->shares = false;
}

/* ---- moves ---- */

static void settle_some(struct views *views, uint32_t half, size_t count) {
    while (views->unsettled && count--) {
        struct nearby *list = &views->unsettled->list;
        views->unsettled = views->unsettled->next;
        /* The first that is pending is the oldest. */
        if (list->pending_count && list->pending[0] / HALF != half) nearby_settle(list);
    }
}

uint32_t views_move(struct views *views, const struct lists_move *move) {
    struct lists *lists = views->lists;
    if (lists->count && lists->count % HALF == 0) {
        settle_some(views, lists->count / HALF - 1, SIZE_MAX); /* nobody, unless many views were closed meanwhile */
        views->unsettled = views->first;
    }
    if (!lists_room(lists)) lists_forget(lists);
    settle_some(views, lists->count / HALF, views->count / HALF + 1);
    return lists_put(lists, move);
}

void views_void(struct views *views, const struct map *users) { lists_void(views->lists, users); }

/* ---- what is owed ---- */

static bool awaits_first_page(const struct view *view) { return view->open && !view->paged && !view->page_wanted; }

static bool owes_update(const struct view *view) {
    return view->paged && (view->list.dirty || view->list.pending_count);
}

static void schedule_expiry(struct views *views, struct view *view) {
    int64_t due = INT64_MAX, inactive_ms = views->options.inactive_ms;
    if (view->list.oldest != INT64_MAX) due = view->list.oldest + inactive_ms;
    if (!view->inactive && view->list.time >= 0 && view->list.time + inactive_ms < due)
        due = view->list.time + inactive_ms;
    if (due == INT64_MAX)
        wheel_clear(&views->expiries, &view->expiry);
    else if (!wheel_is_set(&view->expiry) || view->expiry.due > due)
        wheel_set(&views->expiries, &view->expiry, due);
}

void view_changed(struct views *views, struct view *view) {
    schedule_expiry(views, view);
    if (owes_update(view)) session_owe(views->options.sessions, session_of(views, view), views->options.place);
}

void view_want_page(struct views *views, struct view *view, struct nearby_cursor after) {
    view->page_wanted = true;
    view->page_after = after;
    session_tell(views->options.sessions, session_of(views, view), views->options.place);
}

/* Of what a slow phone asked for, the last page is kept, and nothing more. */
struct screen_filled view_fill(struct views *views, struct view *view, struct buffer *frame) {
    struct screen_filled filled = {.frame = true};
    if (view->page_wanted) {
        filled.entries = frame_nearby(frame, &view->list, view->page_after, views->options.faces);
        view->page_wanted = false;
        view->paged = true;
    } else if (owes_update(view)) {
        filled.entries = frame_update(frame, &view->list, views->options.faces);
        filled.frame = filled.entries > 0;
    } else {
        filled.frame = false;
    }
    filled.more = owes_update(view);
    return filled;
}

/* ---- time ---- */

static bool is_too_old(const struct views *views, const struct view *view) {
    return view->list.time >= 0 && protocol_now(views->options.clock) - view->list.time >= views->options.inactive_ms;
}

static void expire(struct views *views, struct view *view) {
    if (is_too_old(views, view)) {
        view->inactive = true;
        nearby_clear(&view->list);
    }
    nearby_expire(&view->list, protocol_now(views->options.clock), views->options.inactive_ms);
    view_changed(views, view);
}

static void expiry_fired(void *context, struct wheel_timer *timer) {
    expire(context, (struct view *)(void *)((char *)timer - offsetof(struct view, expiry)));
}

void views_expire(struct views *views) {
    wheel_advance(&views->expiries, protocol_now(views->options.clock), expiry_fired, views);
}

int64_t view_deadline(const struct view *view) { return awaits_first_page(view) ? view->first_page_ms : INT64_MAX; }

void view_due(struct views *views, struct view *view) {
    if (awaits_first_page(view) && clock_coarse_ms() >= view->first_page_ms) view_want_page(views, view, FIRST_PAGE);
}

/* ---- changes ---- */

void view_moved(struct views *views, struct view *view) {
    view->inactive = is_too_old(views, view);
    if (view->inactive)
        expire(views, view);
    else
        view_changed(views, view);
}

void view_share(struct view *view, bool shares) { view->shares = shares; }

void view_first_page(struct views *views, struct view *view) {
    if (awaits_first_page(view)) view_want_page(views, view, FIRST_PAGE);
}

void view_answered(struct views *views, struct view *view) {
    view_first_page(views, view);
    view_changed(views, view);
}

void view_empty(struct views *views, struct view *view) {
    nearby_clear(&view->list);
    view_changed(views, view);
}
