/* The table of sessions, their deadlines, and their lives. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fanout/sessions_private.h"

enum { TICK_MS = 10 /* granularity of deadlines */, HELLO_LEAST_MS = 200, CHANCE_BITS = 21, STEPS_A_MS = 1024 };

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
int64_t session_number(const struct session *session) { return rest_of(session)->number; }
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

void session_schedule(struct sessions *sessions, struct session *session) {
    const struct fanout_settings *settings = sessions->options.settings;
    struct rest *rest = rest_of(session);
    int64_t due = session->greeted ? rest->token_expires_ms : rest->opened_ms + settings->hello_s * 1000;
    nearest(&due, screens_deadline(sessions->options.screens, session));
    if (owes(session) && !rest->ready_link) nearest(&due, flush_due(sessions, rest));
    if (rest->slow_since_ms) nearest(&due, rest->slow_since_ms + settings->slow_close_s * 1000);
    if (rest->unsent == UNSENT_TOO_MANY) due = 0;
    /* One that fires too soon finds nothing due and comes here again: cheaper than moving it with every frame. */
    if (wheel_is_set(&rest->deadline) && rest->deadline.due <= due) return;
    wheel_set(&sessions->deadlines, &rest->deadline, due);
}

/* ---- a session's life ---- */

static uint64_t network_of_session(const struct rest *rest) {
    return rest->connection ? ws_origin(rest->connection) : 0;
}

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
    if (rest->unsent && rest->unsent != UNSENT_TOO_MANY) session_hold(sessions, session, rest->unsent, 0);
    for (size_t place = 0; place < sessions->options.screens->count; place++)
        tracer_forget(sessions->options.tracer, session, place);
    SCREENS_CALL(sessions->options.screens, free, session);
    if (session->greeted) table_remove(sessions, session);
    session_ready_remove(sessions, session);
    wheel_clear(&sessions->deadlines, &rest->deadline);
    *rest->link = rest->next;
    if (rest->next) rest_of(rest->next)->link = rest->link;
    sessions->metrics.sessions->value = (double)--sessions->count;
    pool_give(sessions->memory, rest);
}

/* Milliseconds and chance: nobody guesses it, and no other edge gives it out. Each is higher than all before, also within a millisecond and
 * when the machine's date is set back. */
static int64_t new_number(struct sessions *sessions) {
    const uint32_t chances = 1u << CHANCE_BITS;
    uint32_t random = 0;
    while (getrandom(&random, sizeof random, 0) != sizeof random) continue;
    int64_t number = clock_wall_ms() << CHANCE_BITS | (random & (chances - 1));
    if (number <= sessions->last_number) number = sessions->last_number + 1 + random % (chances / STEPS_A_MS);
    return sessions->last_number = number;
}

bool session_greet(struct sessions *sessions, struct session *session, int64_t user, int32_t route) {
    if (!held_take(sessions->by_user, (uint64_t)user, 1)) return false;
    if (rates_take(sessions->hellos, (uint64_t)user, 1, clock_coarse_ms())) {
        held_give(sessions->by_user, (uint64_t)user, 1);
        return false;
    }
    waiting_remove(sessions, session);
    table_add(sessions, session, user);
    rest_of(session)->number = new_number(sessions);
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
    SCREENS_CALL(sessions->options.screens, routed, session);
    session_schedule(sessions, session);
}

void session_leave(struct sessions *sessions, struct session *session, int code, const char *reason,
                   int64_t reconnect_ms) {
    if (session->leaving) return;
    bool refused = code == WS_POLICY || code == WS_OVERLOADED;
    if (refused && sessions->options.refused)
        sessions->options.refused(sessions->options.context, reason, network_of_session(rest_of(session)));
    SCREENS_CALL(sessions->options.screens, leave, session);
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
    SCREENS_CALL(sessions->options.screens, closed, session);
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
    } else if (rest->unsent == UNSENT_TOO_MANY) {
        session_leave(sessions, session, WS_OVERLOADED, "too_many_bytes", -1);
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
    SCREENS_CALL(sessions->options.screens, due, session);
    if (owes(session) && now >= flush_due(sessions, rest))
        session_ready_add(sessions, session); /* sessions_tick flushes them together */
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
    struct sessions *sessions =
        MEM_NEW(&(struct sessions){.options = *options, .users = map_new(), .bytes = sizeof(struct session)});
    sessions->by_user = held_new(&(struct held_options){
        .metrics = options->metrics, .what = "sessions", .by = "user", .each = options->settings->user_sessions});
    sessions->by_network = held_new(&(struct held_options){.metrics = options->metrics,
                                                           .what = "connections",
                                                           .by = "network",
                                                           .each = options->settings->network_sessions,
                                                           .in_all = options->settings->max_sessions});
    sessions->unread = held_new(&(struct held_options){.metrics = options->metrics,
                                                       .what = "unread_bytes",
                                                       .by = "user",
                                                       .each = options->settings->user_unread_mb << 20,
                                                       .in_all = options->settings->unread_mb << 20});
    sessions->hellos = rates_new(&(struct rates_options){
        options->metrics, "hellos", "user", options->settings->user_hello_rate, options->settings->user_hello_burst});
    for (size_t i = 0; i < options->screens->count; i++) {
        sessions->offsets[i] = sessions->bytes;
        sessions->bytes += (options->screens->at[i].screen->session_bytes + 7) / 8 * 8;
    }
    sessions->ready_tail = &sessions->ready;
    sessions->memory =
        pool_new((offsetof(struct rest, head) + sessions->bytes + SESSIONS_LINE - 1) / SESSIONS_LINE * SESSIONS_LINE);
    sessions->flusher = loop_idle_new(options->loop, sessions_flush_more, sessions);
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
    rates_free(sessions->hellos);
    held_free(sessions->unread);
    map_free(sessions->users);
    buffer_free(&sessions->frame);
    free(sessions);
}
