#include "fanout/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "budget/held.h"
#include "fanout/frames.h"
#include "fanout/wheel.h"

enum {
    LINE = 64,
    TICK_MS = 10,     /* granularity of deadlines */
    FLUSH_SLICE = 32, /* sessions that are flushed in one go before the loop turns */
    HELLO_LEAST_MS = 200,
    EVERY_SCREEN = 0xff
};

struct sessions {
    struct sessions_options options;
    struct pool *memory;
    size_t offsets[SCREENS_MAX]; /* of the screens' parts, from struct session on */
    size_t bytes;                /* of them and struct session together */
    struct session *first;
    struct map *users; /* user -> first of its sessions */
    size_t count;
    struct session *waiting, *waiting_last; /* not greeted */
    struct held *by_user, *by_network;
    struct session *ready; /* owing and quiet: flushed at the end of the batch */
    struct session **ready_tail;
    struct wheel deadlines;
    struct loop_idle *flusher;
    struct buffer frame;
    struct {
        struct metric *sessions, *hellos, *frames, *entries, *bytes, *slow, *errors;
    } metrics;
};

/* The part of a session that only this file looks at. */
struct rest {
    struct session *next, **link; /* sessions->first */
    union {
        struct { /* once it is a user's */
            int64_t user;
            struct session *twin_before; /* NULL: it is the user's newest */
            int64_t token_expires_ms;    /* clock_coarse_ms, as all times here; 0: none */
        };
        struct { /* while it waits for its hello */
            struct session *older, *newer;
            int64_t opened_ms;
        };
    };
    struct talk talk;
    uint32_t key; /* of its token */

    /* A flush looks at these. */
    _Alignas(LINE) struct session *ready_next;
    struct session **ready_link; /* sessions->ready, while it waits to be flushed */
    struct ws_connection *connection;
    struct wheel_timer deadline; /* the nearest of all times */
    int64_t flushed_ms;
    int64_t slow_since_ms;

    _Alignas(LINE) struct session head; /* the screens' parts lie right behind it */
};

_Static_assert(offsetof(struct rest, head) + sizeof(struct session) == SESSION_BYTES, "as the header says");

static struct rest *rest_of(const struct session *session) {
    return (struct rest *)((uintptr_t)session - offsetof(struct rest, head));
}

/* ---- the table ---- */

struct session *sessions_of(const struct sessions *sessions, int64_t user) {
    return map_pointer(sessions->users, (uint64_t)user);
}

void sessions_prefetch(const struct sessions *sessions, int64_t user) { map_prefetch(sessions->users, (uint64_t)user); }

static void table_add(struct sessions *sessions, struct session *session, int64_t user) {
    uint64_t *first = map_put(sessions->users, (uint64_t)user, NULL);
    session->twin = (struct session *)(uintptr_t)*first;
    rest_of(session)->user = user;
    rest_of(session)->twin_before = NULL;
    if (session->twin) rest_of(session->twin)->twin_before = session;
    *first = (uint64_t)(uintptr_t)session;
}

static void table_remove(struct sessions *sessions, struct session *session) {
    struct rest *rest = rest_of(session);
    if (session->twin) rest_of(session->twin)->twin_before = rest->twin_before;
    if (rest->twin_before)
        rest->twin_before->twin = session->twin;
    else if (session->twin)
        *map_find(sessions->users, (uint64_t)rest->user) = (uint64_t)(uintptr_t)session->twin;
    else
        map_remove(sessions->users, (uint64_t)rest->user, NULL);
}

static void waiting_add(struct sessions *sessions, struct session *session) {
    struct rest *rest = rest_of(session);
    rest->older = sessions->waiting_last;
    rest->newer = NULL;
    *(rest->older ? &rest_of(rest->older)->newer : &sessions->waiting) = session;
    sessions->waiting_last = session;
}

static void waiting_remove(struct sessions *sessions, struct session *session) {
    const struct rest *rest = rest_of(session);
    *(rest->older ? &rest_of(rest->older)->newer : &sessions->waiting) = rest->newer;
    *(rest->newer ? &rest_of(rest->newer)->older : &sessions->waiting_last) = rest->older;
}

struct session *sessions_waiting(const struct sessions *sessions) {
    struct session *first = sessions->waiting;
    return first && clock_coarse_ms() >= rest_of(first)->opened_ms + HELLO_LEAST_MS ? first : NULL;
}

struct session *sessions_first(const struct sessions *sessions) {
    return sessions->first;
}
struct session *session_next(const struct session *session) {
    return rest_of(session)->next;
}
size_t sessions_count(const struct sessions *sessions) { return sessions->count; }
struct tracer *sessions_tracer(const struct sessions *sessions) {
    return sessions->options.tracer;
}
size_t sessions_offset(const struct sessions *sessions, size_t place) { return sessions->offsets[place]; }
int64_t session_user(const struct session *session) { return rest_of(session)->user; }
int64_t session_deadline(const struct session *session) { return rest_of(session)->deadline.due; }
struct talk *session_talk(struct session *session) {
    return &rest_of(session)->talk;
}
struct buffer *sessions_frame(struct sessions *sessions) {
    return &sessions->frame;
}

/* ---- deadlines ---- */

static void nearest(int64_t *due, int64_t time) {
    if (time < *due) *due = time;
}

/* Something is owed, and the phone takes it. */
static bool owes(const struct session *session) {
    return session->owing && !session->leaving && !rest_of(session)->slow_since_ms;
}

static int64_t flush_due(const struct sessions *sessions, const struct rest *rest) {
    return rest->flushed_ms + sessions->options.settings->flush_ms;
}

void session_schedule(struct sessions *sessions, struct session *session) {
    const struct fanout_settings *settings = sessions->options.settings;
    struct rest *rest = rest_of(session);
    int64_t due = session->greeted ? rest->token_expires_ms : rest->opened_ms + settings->hello_s * 1000;
    nearest(&due, screens_deadline(sessions->options.screens, session));
    if (owes(session) && !rest->ready_link) nearest(&due, flush_due(sessions, rest));
    if (rest->slow_since_ms) nearest(&due, rest->slow_since_ms + settings->slow_close_s * 1000);
    /* One that fires too soon finds nothing due and comes here again: cheaper than moving it with every frame. */
    if (wheel_is_set(&rest->deadline) && rest->deadline.due <= due) return;
    wheel_set(&sessions->deadlines, &rest->deadline, due);
}

/* ---- frames ---- */

/* False: it is closing, or slow: only errors are sent to the slow. */
static bool send_frame(struct sessions *sessions, struct rest *rest, size_t entries) {
    size_t size = sessions->frame.size - WS_HEADROOM;
    if (ws_send(rest->connection, &sessions->frame)) return false;
    sessions->metrics.frames->value++;
    sessions->metrics.entries->value += (double)entries;
    sessions->metrics.bytes->value += (double)size;
    return true;
}

/* A frame was given to the socket: the end of the trace whose delivery it tells, if there is one. The span begins when the screen knew,
 * so it shows the flush window. */
static void finish_trace(struct sessions *sessions, const struct session *session, size_t place) {
    struct tracer *tracer = sessions->options.tracer;
    struct trace_scope scope;
    int64_t since_ns;
    if (!tracer_unpark(tracer, session, place, &scope, &since_ns)) return;
    struct trace_scope frame = tracer_child(tracer, &scope.context);
    frame.start_ns = since_ns;
    struct trace_facts facts = {.kind = TRACE_INTERNAL};
    snprintf(facts.name, sizeof facts.name, "%s frame", sessions->options.screens->at[place].screen->name);
    tracer_finish(tracer, &frame, &facts);
}

void session_send(struct sessions *sessions, struct session *session) { send_frame(sessions, rest_of(session), 0); }

void session_send_error(struct sessions *sessions, struct session *session, const char *code, const char *message) {
    sessions->metrics.errors->value++;
    frame_error(&sessions->frame, code, message);
    session_send(sessions, session);
}

static void fill(struct sessions *sessions, struct session *session, size_t place) {
    const struct screen_running *at = &sessions->options.screens->at[place];
    struct rest *rest = rest_of(session);
    session->owing &= (uint8_t) ~(1u << place);
    struct screen_filled filled;
    do {
        filled = at->screen->fill(at->product, session, &sessions->frame);
        if (!filled.frame) continue;
        rest->flushed_ms = clock_coarse_ms();
        if (send_frame(sessions, rest, filled.entries)) finish_trace(sessions, session, place);
    } while (filled.again && ws_ready(rest->connection));
    if (filled.more || filled.again) session->owing |= (uint8_t)(1u << place);
}

/* A frame tells its entries, so it is built only when it is going to be sent. */
static void flush(struct sessions *sessions, struct session *session, unsigned screens) {
    struct rest *rest = rest_of(session);
    unsigned owing;
    for (size_t place = 0; (owing = session->owing & screens) >> place; place++) {
        if (!(owing >> place & 1)) continue;
        if (!ws_ready(rest->connection)) {
            if (!rest->slow_since_ms) rest->slow_since_ms = clock_coarse_ms();
            break;
        }
        fill(sessions, session, place);
    }
    session_schedule(sessions, session);
}

void session_tell(struct sessions *sessions, struct session *session, unsigned place) {
    session->owing |= (uint8_t)(1u << place);
    if (!session->leaving) flush(sessions, session, 1u << place);
}

void session_writable(struct sessions *sessions, struct session *session) {
    rest_of(session)->slow_since_ms = 0;
    if (!session->leaving) flush(sessions, session, EVERY_SCREEN);
}

/* ---- what is flushed at the end of the batch ---- */

static void ready_add(struct sessions *sessions, struct session *session) {
    struct rest *rest = rest_of(session);
    if (rest->ready_link) return;
    rest->ready_next = NULL;
    rest->ready_link = sessions->ready_tail;
    *sessions->ready_tail = session;
    sessions->ready_tail = &rest->ready_next;
}

static void ready_remove(struct sessions *sessions, struct session *session) {
    struct rest *rest = rest_of(session);
    if (!rest->ready_link) return;
    *rest->ready_link = rest->ready_next;
    if (rest->ready_next)
        rest_of(rest->ready_next)->ready_link = rest->ready_link;
    else
        sessions->ready_tail = rest->ready_link;
    rest->ready_link = NULL;
}

/* While one is told, the memory of the next ones is fetched, of each as far as its address is known by then. */
static void fetch_next(const struct sessions *sessions, const struct session *next) {
    const struct screen_set *screens = sessions->options.screens;
    if (!next) return;
    ws_prefetch(rest_of(next)->connection);
    screens_fetch(screens, next, SCREEN_NEXT);
    if (!(next = rest_of(next)->ready_next)) return;
    screens_fetch(screens, next, SCREEN_SECOND);
    if (!(next = rest_of(next)->ready_next)) return;
    __builtin_prefetch(&rest_of(next)->ready_next, 1);
    __builtin_prefetch(next, 1);
    screens_fetch(screens, next, SCREEN_THIRD);
}

void sessions_flush_ready(struct sessions *sessions) {
    for (int i = 0; i < FLUSH_SLICE && sessions->ready; i++) {
        struct session *session = sessions->ready;
        fetch_next(sessions, rest_of(session)->ready_next);
        ready_remove(sessions, session);
        if (owes(session))
            flush(sessions, session, EVERY_SCREEN);
        else
            session_schedule(sessions, session);
    }
    loop_idle_on(sessions->flusher, sessions->ready != NULL);
}

static void flush_more(void *context) { sessions_flush_ready(context); }

void session_owe(struct sessions *sessions, struct session *session, unsigned place) {
    struct rest *rest = rest_of(session);
    session->owing |= (uint8_t)(1u << place);
    tracer_park(sessions->options.tracer, session, place);
    if (rest->ready_link || !owes(session)) return;
    int64_t due = flush_due(sessions, rest);
    if (wheel_is_set(&rest->deadline) && rest->deadline.due <= due) return; /* or later than that, by a tick */
    if (clock_coarse_ms() >= due)
        ready_add(sessions, session);
    else
        wheel_set(&sessions->deadlines, &rest->deadline, due);
}

void sessions_trace(struct sessions *sessions, int64_t user, unsigned place) {
    for (struct session *session = sessions_of(sessions, user); session; session = session->twin)
        if (session->owing >> place & 1) tracer_park(sessions->options.tracer, session, place);
}

/* ---- a session's life ---- */

static uint64_t network_of_session(const struct rest *rest) { return rest->connection ? ws_origin(rest->connection) : 0; }

struct session *session_new(struct sessions *sessions, struct ws_connection *connection) {
    if (connection && ws_origin(connection) && !held_take(sessions->by_network, ws_origin(connection), 1)) return NULL;
    struct rest *rest = pool_take(sessions->memory);
    memset(rest, 0, offsetof(struct rest, head) + sessions->bytes);
    rest->connection = connection;
    rest->opened_ms = clock_coarse_ms();
    rest->next = sessions->first;
    rest->link = &sessions->first;
    rest->head.route = ROUTE_NONE;
    if (rest->next) rest_of(rest->next)->link = &rest->next;
    sessions->first = &rest->head;
    waiting_add(sessions, &rest->head);
    sessions->metrics.sessions->value = (double)++sessions->count;
    session_schedule(sessions, &rest->head);
    return &rest->head;
}

/* It does not count any more. */
static void give_back(struct sessions *sessions, struct session *session) {
    const struct rest *rest = rest_of(session);
    if (network_of_session(rest)) held_give(sessions->by_network, network_of_session(rest), 1);
    if (session->greeted)
        held_give(sessions->by_user, (uint64_t)rest->user, 1);
    else
        waiting_remove(sessions, session);
}

void session_free(struct sessions *sessions, struct session *session) {
    struct rest *rest = rest_of(session);
    if (!session->leaving) give_back(sessions, session);
    for (size_t place = 0; place < sessions->options.screens->count; place++)
        tracer_forget(sessions->options.tracer, session, place);
    screens_free(sessions->options.screens, session);
    if (session->greeted) table_remove(sessions, session);
    ready_remove(sessions, session);
    wheel_clear(&sessions->deadlines, &rest->deadline);
    *rest->link = rest->next;
    if (rest->next) rest_of(rest->next)->link = rest->link;
    sessions->metrics.sessions->value = (double)--sessions->count;
    pool_give(sessions->memory, rest);
}

bool session_greet(struct sessions *sessions, struct session *session, int64_t user, int32_t route) {
    if (!held_take(sessions->by_user, (uint64_t)user, 1)) return false;
    waiting_remove(sessions, session);
    table_add(sessions, session, user);
    session->greeted = true;
    session->route = route;
    sessions->metrics.hellos->value++;
    return true;
}

void session_renew(struct sessions *sessions, struct session *session, int64_t expires_ms, uint32_t key) {
    rest_of(session)->token_expires_ms = expires_ms;
    rest_of(session)->key = key;
    session_schedule(sessions, session);
}

void session_reroute(struct sessions *sessions, struct session *session, int32_t route) {
    session->route = route;
    screens_routed(sessions->options.screens, session);
    session_schedule(sessions, session);
}

void session_leave(struct sessions *sessions, struct session *session, int code, const char *reason,
                   int64_t reconnect_ms) {
    if (session->leaving) return;
    screens_leave(sessions->options.screens, session);
    give_back(sessions, session);
    session->leaving = true;
    if (reconnect_ms >= 0) {
        frame_reconnect(&sessions->frame, reconnect_ms);
        session_send(sessions, session);
    }
    ws_close(rest_of(session)->connection, code, reason);
}

void sessions_check_keys(struct sessions *sessions, const struct auth *auth) {
    for (struct session *session = sessions->first, *next; session; session = next) {
        next = session_next(session);
        if (session->greeted && !auth_has_key(auth, rest_of(session)->key))
            session_leave(sessions, session, WS_POLICY, "bad_token", -1);
    }
}

void session_closed(struct sessions *sessions, struct session *session) {
    screens_closed(sessions->options.screens, session);
    session_free(sessions, session);
}

/* Closes a session whose time is over. */
static void leave_if_over(struct sessions *sessions, struct session *session, int64_t now) {
    const struct fanout_settings *settings = sessions->options.settings;
    const struct rest *rest = rest_of(session);
    if (!session->greeted && now >= rest->opened_ms + settings->hello_s * 1000) {
        session_leave(sessions, session, WS_POLICY, "no_hello", -1);
    } else if (session->greeted && now >= rest->token_expires_ms) {
        session_leave(sessions, session, WS_EXPIRED, "token_expired", -1);
    } else if (rest->slow_since_ms && now >= rest->slow_since_ms + settings->slow_close_s * 1000) {
        sessions->metrics.slow->value++;
        session_leave(sessions, session, WS_TOO_SLOW, "too_slow", -1);
    }
}

static void deadline_fired(void *context, struct wheel_timer *timer) {
    struct sessions *sessions = context;
    struct rest *rest = (struct rest *)((uintptr_t)timer - offsetof(struct rest, deadline));
    struct session *session = &rest->head;
    int64_t now = clock_coarse_ms();
    leave_if_over(sessions, session, now);
    if (session->leaving) return;
    screens_due(sessions->options.screens, session);
    if (owes(session) && now >= flush_due(sessions, rest))
        ready_add(sessions, session); /* sessions_tick flushes them together */
    else
        session_schedule(sessions, session);
}

void sessions_tick(struct sessions *sessions) {
    wheel_advance(&sessions->deadlines, clock_coarse_ms(), deadline_fired, sessions);
    sessions_flush_ready(sessions);
}

/* ---- all of them ---- */

static void metrics_start(struct sessions *sessions) {
    struct metrics *m = sessions->options.metrics;
    sessions->metrics.sessions = metrics_gauge(m, "starling_edge_sessions", "Open WebSocket connections.", NULL);
    sessions->metrics.hellos =
        metrics_counter(m, "starling_edge_hellos_total", "Sessions that said a good hello.", NULL);
    sessions->metrics.frames = metrics_counter(m, "starling_edge_frames_total", "Frames sent.", NULL);
    sessions->metrics.entries = metrics_counter(m, "starling_edge_entries_total",
                                                "Friends told in nearby and update frames, gone ones included.", NULL);
    sessions->metrics.bytes =
        metrics_counter(m, "starling_edge_frame_bytes_total", "Payload bytes of frames sent.", NULL);
    sessions->metrics.slow =
        metrics_counter(m, "starling_edge_slow_closed_total", "Sessions closed because the phone did not read.", NULL);
    sessions->metrics.errors = metrics_counter(m, "starling_edge_errors_total", "Error frames sent.", NULL);
}

struct sessions *sessions_new(const struct sessions_options *options) {
    struct sessions *sessions = mem_alloc(sizeof *sessions);
    *sessions = (struct sessions){.options = *options, .users = map_new(), .bytes = sizeof(struct session)};
    sessions->by_user = held_new(&(struct held_options){
        .metrics = options->metrics, .what = "sessions", .by = "user", .each = options->settings->user_sessions});
    sessions->by_network = held_new(&(struct held_options){.metrics = options->metrics,
                                                           .what = "connections",
                                                           .by = "network",
                                                           .each = options->settings->network_sessions,
                                                           .in_all = options->settings->max_sessions});
    for (size_t i = 0; i < options->screens->count; i++) {
        sessions->offsets[i] = sessions->bytes;
        sessions->bytes += (options->screens->at[i].screen->session_bytes + 7) / 8 * 8;
    }
    sessions->ready_tail = &sessions->ready;
    sessions->memory = pool_new((offsetof(struct rest, head) + sessions->bytes + LINE - 1) / LINE * LINE);
    sessions->flusher = loop_idle_new(options->loop, flush_more, sessions);
    wheel_init(&sessions->deadlines, TICK_MS, clock_coarse_ms());
    metrics_start(sessions);
    return sessions;
}

void sessions_free_all(struct sessions *sessions) {
    while (sessions && sessions->first) session_free(sessions, sessions->first);
}

void sessions_free(struct sessions *sessions) {
    if (!sessions) return;
    loop_idle_free(sessions->flusher);
    wheel_free(&sessions->deadlines);
    pool_free(sessions->memory);
    held_free(sessions->by_user);
    held_free(sessions->by_network);
    map_free(sessions->users);
    buffer_free(&sessions->frame);
    free(sessions);
}
