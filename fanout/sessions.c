/* Sessions: who they are, what is on their screens, and when something is due. */
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fanout/edge.h"

enum {
    SESSION_RANDOM_BITS = 21,
    FLUSH_SLICE = 256, /* sessions flushed in one go before the loop turns */
    HALF = LISTS_MOVES / 2
};

/* ---- the table ---- */

struct session *sessions_of(const struct edge *edge, int64_t user) {
    return map_pointer(edge->users, (uint64_t)user);
}

static void table_remove(struct edge *edge, struct session *session) {
    uint64_t *first = map_find(edge->users, (uint64_t)session->user);
    struct session *at = (struct session *)(uintptr_t)*first, *before = NULL;
    while (at != session) {
        before = at;
        at = at->twin;
    }
    if (before)
        before->twin = session->twin;
    else if (session->twin)
        *first = (uint64_t)(uintptr_t)session->twin;
    else
        map_remove(edge->users, (uint64_t)session->user, NULL);
    map_remove(edge->ids, (uint64_t)session->id, NULL);
}

static void set_id(struct edge *edge, struct session *session, int64_t id) {
    session->id = id;
    *map_put(edge->ids, (uint64_t)id, NULL) = (uint64_t)(uintptr_t)session;
}

static int64_t new_id(const struct edge *edge) {
    uint32_t chance = 0;
    int64_t id;
    do {
        while (getrandom(&chance, sizeof chance, 0) != sizeof chance) continue;
        id = clock_wall_ms() << SESSION_RANDOM_BITS | (chance & ((1u << SESSION_RANDOM_BITS) - 1));
    } while (map_find(edge->ids, (uint64_t)id));
    return id;
}

void session_greet(struct edge *edge, struct session *session, int64_t user) {
    uint64_t *first = map_put(edge->users, (uint64_t)user, NULL);
    session->greeted = true;
    session->user = user;
    session->shares = report_wanted(edge, session);
    session->twin = (struct session *)(uintptr_t)*first;
    *first = (uint64_t)(uintptr_t)session;
    set_id(edge, session, new_id(edge));
    session->route = routes_choose(edge);
    session->first_page_ms = edge_clock() + edge->settings.first_page_ms;
    edge->metrics.hellos->value++;
}

void session_renumber(struct edge *edge, struct session *session, int64_t id) {
    map_remove(edge->ids, (uint64_t)session->id, NULL);
    set_id(edge, session, id);
}

struct session *session_new(struct edge *edge, struct ws_connection *connection) {
    struct session *session = pool_take(edge->session_memory);
    *session = (struct session){
        .connection = connection,
        .next = edge->sessions,
        .link = &edge->sessions,
        .opened_ms = edge_clock(),
        .route = ROUTE_NONE,
        .accuracy = -1,
    };
    nearby_init(&session->nearby, edge->lists, edge_radius(edge));
    if (session->next) session->next->link = &session->next;
    edge->sessions = session;
    edge->metrics.sessions->value = (double)++edge->session_count;
    session_schedule(edge, session);
    return session;
}

static void ready_remove(struct edge *edge, struct session *session);

void session_free(struct edge *edge, struct session *session) {
    if (session->greeted) table_remove(edge, session);
    report_unsent(edge, session, false);
    ready_remove(edge, session);
    wheel_clear(&edge->deadlines, &session->deadline);
    wheel_clear(&edge->expiries, &session->expiry);
    optouts_forget(edge, session);
    if (edge->unsettled == session) edge->unsettled = session->next;
    *session->link = session->next;
    if (session->next) session->next->link = session->link;
    nearby_free(&session->nearby);
    edge->metrics.sessions->value = (double)--edge->session_count;
    pool_give(edge->session_memory, session);
}

void sessions_free_all(struct edge *edge) {
    while (edge->sessions) session_free(edge, edge->sessions);
}

/* ---- deadlines ---- */

static void nearest(int64_t *due, int64_t time) {
    if (time < *due) *due = time;
}

/* An update is owed, and the phone takes it. */
static bool owes_update(const struct session *session) {
    return session->paged && (session->nearby.dirty || session->nearby.pending_count) && !session->slow_since_ms &&
           !session->leaving;
}

/* No router has answered, and nothing else has had the first page sent. */
static bool awaits_first_page(const struct session *session) {
    return session->greeted && !session->paged && !session->page_wanted;
}

void session_schedule(struct edge *edge, struct session *session) {
    int64_t due = INT64_MAX;
    if (!session->greeted)
        nearest(&due, session->opened_ms + edge->settings.hello_s * 1000);
    else
        nearest(&due, session->token_expires_ms);
    if (awaits_first_page(session)) nearest(&due, session->first_page_ms);
    if (owes_update(session) && !session->ready_link) nearest(&due, session->flushed_ms + edge->settings.flush_ms);
    if (session->slow_since_ms) nearest(&due, session->slow_since_ms + edge->settings.slow_close_s * 1000);
    if (session->rejoin_ms) nearest(&due, session->rejoin_ms);
    if (session->held) nearest(&due, session->report_ms);
    /* One that fires too soon finds nothing due and comes here again: cheaper than moving it with every frame. */
    if (wheel_is_set(&session->deadline) && session->deadline.due <= due) return;
    wheel_set(&edge->deadlines, &session->deadline, due);
}

/* ---- frames ---- */

static void slow(struct edge *edge, struct session *session) {
    if (!session->slow_since_ms) session->slow_since_ms = edge_clock();
    session_schedule(edge, session);
}

void session_send(struct edge *edge, struct session *session, size_t entries) {
    size_t size = edge->frame.size - WS_HEADROOM;
    if (ws_send(session->connection, &edge->frame)) return; /* closing, or slow: only errors are sent to the slow */
    edge->metrics.frames->value++;
    edge->metrics.entries->value += (double)entries;
    edge->metrics.frame_bytes->value += (double)size;
}

void session_send_error(struct edge *edge, struct session *session, const char *code, const char *message) {
    edge->metrics.errors->value++;
    frame_error(&edge->frame, code, message);
    session_send(edge, session, 0);
}

void session_leave(struct edge *edge, struct session *session, int code, const char *reason, int64_t reconnect_ms) {
    if (session->leaving) return;
    report_held(edge, session);
    session->leaving = true;
    if (reconnect_ms >= 0) {
        frame_reconnect(&edge->frame, reconnect_ms);
        session_send(edge, session, 0);
    }
    ws_close(session->connection, code, reason);
}

/* A frame tells its entries, so it is built only when it is going to be sent. What a slow phone asked for waits: the
 * last page it wanted, nothing more. */
void session_send_page(struct edge *edge, struct session *session, struct nearby_cursor after) {
    session->page_wanted = true;
    session->page_after = after;
    if (!ws_ready(session->connection)) {
        slow(edge, session);
        return;
    }
    size_t count = frame_nearby(&edge->frame, &session->nearby, after, edge->faces);
    session->page_wanted = false;
    session->paged = true;
    session->flushed_ms = edge_clock();
    session_send(edge, session, count);
    session_schedule(edge, session);
}

static void flush(struct edge *edge, struct session *session) {
    if (!ws_ready(session->connection)) {
        slow(edge, session);
        return;
    }
    size_t count = frame_update(&edge->frame, &session->nearby, edge->faces);
    if (count) {
        session->flushed_ms = edge_clock();
        session_send(edge, session, count);
    }
    session_schedule(edge, session);
}

void session_writable(struct edge *edge, struct session *session) {
    session->slow_since_ms = 0;
    if (session->page_wanted)
        session_send_page(edge, session, session->page_after);
    else if (owes_update(session))
        flush(edge, session);
    else
        session_schedule(edge, session);
}

/* ---- who is to be flushed at the end of the batch ---- */

static void ready_add(struct edge *edge, struct session *session) {
    if (session->ready_link) return;
    session->ready_next = NULL;
    session->ready_link = edge->ready_tail;
    *edge->ready_tail = session;
    edge->ready_tail = &session->ready_next;
}

static void ready_remove(struct edge *edge, struct session *session) {
    if (!session->ready_link) return;
    *session->ready_link = session->ready_next;
    if (session->ready_next)
        session->ready_next->ready_link = session->ready_link;
    else
        edge->ready_tail = session->ready_link;
    session->ready_link = NULL;
}

/* While one is told, the memory of the next ones is fetched, of each as far as its address is known by then. */
static void fetch_next(struct session *next) {
    if (!next) return;
    ws_prefetch(next->connection);
    nearby_prefetch(&next->nearby);
    if (!(next = next->ready_next)) return;
    nearby_prefetch_tags(&next->nearby);
    if (next->ready_next) session_prefetch(next->ready_next);
}

void sessions_flush_ready(struct edge *edge) {
    for (int i = 0; i < FLUSH_SLICE && edge->ready; i++) {
        struct session *session = edge->ready;
        fetch_next(session->ready_next);
        ready_remove(edge, session);
        if (owes_update(session))
            flush(edge, session);
        else
            session_schedule(edge, session);
    }
    loop_idle_on(edge->flusher, edge->ready != NULL);
}

/* ---- changes ---- */

static void schedule_expiry(struct edge *edge, struct session *session, int64_t list_due) {
    int64_t due = list_due;
    if (!session->inactive && session->nearby.time >= 0) nearest(&due, session->nearby.time + edge_inactive_ms(edge));
    if (due == INT64_MAX)
        wheel_clear(&edge->expiries, &session->expiry);
    else if (!wheel_is_set(&session->expiry) || session->expiry.due > due)
        wheel_set(&edge->expiries, &session->expiry, due);
}

void session_changed(struct edge *edge, struct session *session) {
    int64_t oldest = session->nearby.oldest;
    schedule_expiry(edge, session, oldest == INT64_MAX ? INT64_MAX : oldest + edge_inactive_ms(edge));
    if (session->ready_link || !owes_update(session)) return;
    int64_t due = session->flushed_ms + edge->settings.flush_ms;
    if (wheel_is_set(&session->deadline) && session->deadline.due <= due) return; /* or later than that, by a tick */
    if (edge_clock() >= due)
        ready_add(edge, session);
    else
        wheel_set(&edge->deadlines, &session->deadline, due);
}

/* Room for moves comes in two halves. While one fills, lists that have moves of the other pending are settled, a few with each move;
 * so none has when that half's turn comes, and the loop is not held up by settling all of them at once.
 *
 *     | 3 4 5 6 | 1 2 - - |     sessions ---> session ---> session ---> session ---> NULL
 *                  ^ put                                     ^ unsettled: this one and the rest may have 3 to 6 pending
 *
 * Most have been told by then, which settled them. A session that has come since the half began has nothing of the other. */
static void settle_some(struct edge *edge, uint32_t half, size_t count) {
    while (edge->unsettled && count--) {
        struct session *session = edge->unsettled;
        edge->unsettled = session->next;
        /* The first that is pending is the oldest. */
        if (session->nearby.pending_count && session->nearby.pending[0] / HALF != half) nearby_settle(&session->nearby);
    }
}

uint32_t sessions_move(struct edge *edge, const struct lists_move *move) {
    struct lists *lists = edge->lists;
    if (lists->count && lists->count % HALF == 0) {
        settle_some(edge, lists->count / HALF - 1, SIZE_MAX); /* nobody, unless many sessions have gone meanwhile */
        edge->unsettled = edge->sessions;
    }
    if (!lists_room(lists)) lists_forget(lists);
    settle_some(edge, lists->count / HALF, edge->session_count / HALF + 1);
    return lists_put(lists, move);
}

void session_expire(struct edge *edge, struct session *session) {
    int64_t now = edge_now(edge);
    if (session->nearby.time >= 0 && now - session->nearby.time >= edge_inactive_ms(edge)) {
        session->inactive = true;
        nearby_clear(&session->nearby);
    }
    nearby_expire(&session->nearby, now, edge_inactive_ms(edge));
    session_changed(edge, session);
    sessions_flush_ready(edge);
}

void session_moved(struct edge *edge, struct session *session) {
    if (session->inactive)
        session_expire(edge, session);
    else
        session_changed(edge, session);
    sessions_flush_ready(edge);
}

void session_answered(struct edge *edge, struct session *session) {
    session->rostered = true;
    if (awaits_first_page(session)) session_send_page(edge, session, (struct nearby_cursor){-1, -1});
    session_changed(edge, session);
}

/* Closes a session whose time is over. */
static void leave_if_over(struct edge *edge, struct session *session, int64_t now) {
    if (!session->greeted && now >= session->opened_ms + edge->settings.hello_s * 1000) {
        session_leave(edge, session, WS_POLICY, "no_hello", -1);
    } else if (session->greeted && now >= session->token_expires_ms) {
        session_leave(edge, session, WS_EXPIRED, "token_expired", -1);
    } else if (session->slow_since_ms && now >= session->slow_since_ms + edge->settings.slow_close_s * 1000) {
        edge->metrics.slow->value++;
        session_leave(edge, session, WS_TOO_SLOW, "too_slow", -1);
    }
}

void session_due(struct edge *edge, struct session *session) {
    int64_t now = edge_clock();
    leave_if_over(edge, session, now);
    if (session->leaving) return;
    report_due(edge, session);
    if (session->rejoin_ms && now >= session->rejoin_ms) report_rejoin(edge, session);
    if (awaits_first_page(session) && now >= session->first_page_ms)
        session_send_page(edge, session, (struct nearby_cursor){-1, -1});
    if (owes_update(session) && now >= session->flushed_ms + edge->settings.flush_ms)
        ready_add(edge, session); /* whoever advances the time flushes them together */
    else
        session_schedule(edge, session);
}

/* ---- opting in and out ---- */

static void opted_out(struct edge *edge, struct session *session) {
    session->joined = false;
    report_keep(edge, session);
    report_unsent(edge, session, false);
    nearby_clear(&session->nearby);
    session_changed(edge, session);
}

static void opted_in(struct edge *edge, struct session *session) {
    nearby_unbar_all(&session->nearby);
    report_latest(edge, session);
}

void sessions_sharing(void *context, int64_t user, enum sharing_mode mode, int64_t offset) {
    struct edge *edge = context;
    (void)offset;
    for (struct session *session = sessions_of(edge, user); session; session = session->twin) {
        session->shares = mode != SHARING_OFF;
        if (mode == SHARING_OFF)
            opted_out(edge, session);
        else if (!session->joined)
            opted_in(edge, session);
    }
    if (mode == SHARING_OFF)
        optouts_add(edge, user);
    else
        optouts_remove(edge, user);
    sessions_flush_ready(edge);
}
