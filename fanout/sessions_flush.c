/* Frames out: what sessions owe their phones, at once or at the end of the batch. */
#include <stdio.h>

#include "fanout/sessions_private.h"

enum { FLUSH_SLICE = 32 /* sessions that are flushed in one go before the loop turns */, EVERY_SCREEN = 0xff };

bool session_hold(struct sessions *sessions, const struct session *session, size_t before, size_t now) {
    uint64_t user = (uint64_t)rest_of(session)->user;
    if (before) held_give(sessions->unread, user, (int64_t)before);
    return !now || held_take(sessions->unread, user, (int64_t)now);
}

static void count_unsent(struct sessions *sessions, struct rest *rest, size_t unsent) {
    size_t before = rest->unsent == UNSENT_TOO_MANY ? 0 : rest->unsent;
    rest->unsent = session_hold(sessions, &rest->head, before, unsent) ? (uint32_t)unsent : UNSENT_TOO_MANY;
}

/* False: it is closing, or slow: only errors are sent to the slow. */
static bool send_frame(struct sessions *sessions, struct rest *rest, size_t entries) {
    size_t size = sessions->frame.size - WS_HEADROOM;
    if (ws_send(rest->connection, &sessions->frame)) return false;
    if (rest->head.greeted && !ws_ready(rest->connection)) // which is told when it is, again
        count_unsent(sessions, rest, ws_unsent(rest->connection));
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
    if (rest_of(session)->unsent) count_unsent(sessions, rest_of(session), 0);
    if (!session->leaving) flush(sessions, session, EVERY_SCREEN);
}

/* ---- what is flushed at the end of the batch ---- */

void session_ready_add(struct sessions *sessions, struct session *session) {
    struct rest *rest = rest_of(session);
    if (rest->ready_link) return;
    rest->ready_next = NULL;
    rest->ready_link = sessions->ready_tail;
    *sessions->ready_tail = session;
    sessions->ready_tail = &rest->ready_next;
}

void session_ready_remove(struct sessions *sessions, struct session *session) {
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
    SCREENS_CALL(screens, fetch, next, SCREEN_NEXT);
    if (!(next = rest_of(next)->ready_next)) return;
    SCREENS_CALL(screens, fetch, next, SCREEN_SECOND);
    if (!(next = rest_of(next)->ready_next)) return;
    __builtin_prefetch(&rest_of(next)->ready_next, 1);
    __builtin_prefetch(next, 1);
    SCREENS_CALL(screens, fetch, next, SCREEN_THIRD);
}

void sessions_flush_ready(struct sessions *sessions) {
    for (int i = 0; i < FLUSH_SLICE && sessions->ready; i++) {
        struct session *session = sessions->ready;
        fetch_next(sessions, rest_of(session)->ready_next);
        session_ready_remove(sessions, session);
        if (owes(session))
            flush(sessions, session, EVERY_SCREEN);
        else
            session_schedule(sessions, session);
    }
    loop_idle_on(sessions->flusher, sessions->ready != NULL);
}

void sessions_flush_more(void *context) { sessions_flush_ready(context); }

void session_owe(struct sessions *sessions, struct session *session, unsigned place) {
    struct rest *rest = rest_of(session);
    session->owing |= (uint8_t)(1u << place);
    tracer_park(sessions->options.tracer, session, place);
    if (rest->ready_link || !owes(session)) return;
    int64_t due = flush_due(sessions, rest);
    if (wheel_is_set(&rest->deadline) && rest->deadline.due <= due) return; /* or later than that, by a tick */
    if (clock_coarse_ms() >= due)
        session_ready_add(sessions, session);
    else
        wheel_set(&sessions->deadlines, &rest->deadline, due);
}

void sessions_trace(struct sessions *sessions, int64_t user, unsigned place) {
    for (struct session *session = sessions_of(sessions, user); session; session = session->twin)
        if (session->owing >> place & 1) tracer_park(sessions->options.tracer, session, place);
}
