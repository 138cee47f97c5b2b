/* Sessions: what phones say and what they are sent. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "fanout/edge.h"

enum {
    AHEAD_MAX_MS = 60000, /* a report further ahead of the machine's clock is refused */
    SESSION_RANDOM_BITS = 21,
    FLUSH_SLICE = 256,    /* sessions flushed in one go before the loop turns */
    ERRORS_MAX = 20       /* bad messages in a row before the connection is closed */
};

/* ---- the table ---- */

struct session *sessions_of(const struct edge *edge, int64_t user) { return map_pointer(edge->users, (uint64_t)user); }

static void table_add(struct edge *edge, struct session *session) {
    uint64_t *first = map_put(edge->users, (uint64_t)session->user, NULL);
    session->twin = (struct session *)(uintptr_t)*first;
    *first = (uint64_t)(uintptr_t)session;
    *map_put(edge->ids, (uint64_t)session->id, NULL) = (uint64_t)(uintptr_t)session;
}

static void table_remove(struct edge *edge, struct session *session) {
    uint64_t *first = map_find(edge->users, (uint64_t)session->user);
    struct session *at = (struct session *)(uintptr_t)*first, *before = NULL;
    while (at != session) {
        before = at;
        at = at->twin;
    }
    if (before) before->twin = session->twin;
    else if (session->twin) *first = (uint64_t)(uintptr_t)session->twin;
    else map_remove(edge->users, (uint64_t)session->user, NULL);
    map_remove(edge->ids, (uint64_t)session->id, NULL);
}

static int64_t new_id(int64_t now_ms) {
    uint32_t chance = 0;
    while (getrandom(&chance, sizeof chance, 0) != sizeof chance) continue;
    return (now_ms << SESSION_RANDOM_BITS) | (chance & ((1u << SESSION_RANDOM_BITS) - 1));
}

/* ---- deadlines ---- */

static void nearest(int64_t *due, int64_t time) {
    if (time < *due) *due = time;
}

/* An update is owed, and the phone takes it. */
static bool owes_update(const struct session *session) {
    return session->paged && session->nearby.dirty && !session->slow_since_ms && !session->leaving;
}

void session_schedule(struct edge *edge, struct session *session) {
    int64_t due = INT64_MAX;
    if (!session->greeted) nearest(&due, session->opened_ms + edge->settings.hello_s * 1000);
    else nearest(&due, session->token_expires_ms);
    if (session->greeted && !session->paged) nearest(&due, session->first_page_ms);
    if (owes_update(session) && !session->ready_link) nearest(&due, session->flushed_ms + edge->settings.flush_ms);
    if (session->slow_since_ms) nearest(&due, session->slow_since_ms + edge->settings.slow_close_s * 1000);
    if (session->rejoin_ms) nearest(&due, session->rejoin_ms);
    wheel_set(&edge->deadlines, &session->deadline, due);
}

/* ---- frames ---- */

static void slow(struct edge *edge, struct session *session) {
    if (!session->slow_since_ms) session->slow_since_ms = clock_wall_ms();
    session_schedule(edge, session);
}

/* Sends edge->frame. What the phone is too slow for is built anew when it takes something again: never queued. */
static void send_frame(struct edge *edge, struct session *session, size_t entries) {
    size_t size = edge->frame.size - WS_HEADROOM;
    if (ws_send(session->connection, &edge->frame)) return; /* it is closing: on_close comes */
    edge->metrics.frames->value++;
    edge->metrics.entries->value += (double)entries;
    edge->metrics.frame_bytes->value += (double)size;
}

static void send_error(struct edge *edge, struct session *session, const char *code, const char *message) {
    edge->metrics.errors->value++;
    frame_error(&edge->frame, code, message);
    send_frame(edge, session, 0);
}

void session_leave(struct edge *edge, struct session *session, int code, const char *reason, int64_t reconnect_ms) {
    if (session->leaving) return;
    session->leaving = true;
    if (reconnect_ms >= 0) {
        frame_reconnect(&edge->frame, reconnect_ms);
        send_frame(edge, session, 0);
    }
    ws_close(session->connection, code, reason);
}

static void send_page(struct edge *edge, struct session *session, struct nearby_cursor after) {
    size_t count = frame_nearby(&edge->frame, &session->nearby, after, edge->copies);
    session->paged = true;
    session->flushed_ms = clock_wall_ms();
    send_frame(edge, session, count);
    session_schedule(edge, session);
}

static void flush(struct edge *edge, struct session *session) {
    if (!ws_ready(session->connection)) {
        slow(edge, session);
        return;
    }
    size_t count = frame_update(&edge->frame, &session->nearby, edge->copies);
    session->flushed_ms = clock_wall_ms();
    if (count) send_frame(edge, session, count);
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
    if (session->ready_next) session->ready_next->ready_link = session->ready_link;
    else edge->ready_tail = session->ready_link;
    session->ready_link = NULL;
}

void sessions_flush_ready(struct edge *edge) {
    for (int i = 0; i < FLUSH_SLICE && edge->ready; i++) {
        struct session *session = edge->ready;
        ready_remove(edge, session);
        if (owes_update(session)) flush(edge, session);
    }
    loop_idle_on(edge->flusher, edge->ready != NULL);
}

/* ---- changes ---- */

static void schedule_expiry(struct edge *edge, struct session *session, int64_t list_due) {
    int64_t due = list_due;
    if (!session->inactive && session->nearby.time >= 0) nearest(&due, session->nearby.time + edge_inactive_ms(edge));
    if (due == INT64_MAX) wheel_clear(&session->expiry);
    else if (!session->expiry.link || session->expiry.due > due) wheel_set(&edge->expiries, &session->expiry, due);
}

void session_changed(struct edge *edge, struct session *session) {
    int64_t oldest = session->nearby.oldest;
    schedule_expiry(edge, session, oldest == INT64_MAX ? INT64_MAX : oldest + edge_inactive_ms(edge));
    if (!owes_update(session)) return;
    if (clock_wall_ms() - session->flushed_ms >= edge->settings.flush_ms) ready_add(edge, session);
    else if (!session->deadline.link || session->deadline.due > session->flushed_ms + edge->settings.flush_ms)
        session_schedule(edge, session);
}

void session_expire(struct edge *edge, struct session *session) {
    int64_t now = edge_now(edge);
    if (session->nearby.time >= 0 && now - session->nearby.time >= edge_inactive_ms(edge)) {
        session->inactive = true;
        nearby_clear(&session->nearby);
    }
    int64_t due = nearby_expire(&session->nearby, now, edge_inactive_ms(edge));
    schedule_expiry(edge, session, due);
    session_changed(edge, session);
    sessions_flush_ready(edge);
}

void session_answered(struct edge *edge, struct session *session) {
    session->rostered = true;
    if (!session->paged) send_page(edge, session, (struct nearby_cursor){-1, -1});
    session_changed(edge, session);
}

void session_due(struct edge *edge, struct session *session) {
    int64_t now = clock_wall_ms();
    if (!session->greeted) {
        session_leave(edge, session, WS_POLICY, "no hello", -1);
    } else if (now >= session->token_expires_ms) {
        session_leave(edge, session, WS_EXPIRED, "token expired", -1);
    } else if (session->slow_since_ms && now >= session->slow_since_ms + edge->settings.slow_close_s * 1000) {
        edge->metrics.slow->value++;
        session_leave(edge, session, WS_TOO_SLOW, "too slow", -1);
    }
    if (session->leaving) return;
    if (session->rejoin_ms && now >= session->rejoin_ms) session_rejoin(edge, session);
    if (!session->paged && now >= session->first_page_ms) send_page(edge, session, (struct nearby_cursor){-1, -1});
    if (owes_update(session) && now >= session->flushed_ms + edge->settings.flush_ms) flush(edge, session);
    else session_schedule(edge, session);
}

/* ---- to Kafka ---- */

void session_unsent(struct edge *edge, struct session *session, bool unsent) {
    if (session->unsent == unsent) return;
    session->unsent = unsent;
    if (unsent) edge->unsent_count++;
    else edge->unsent_count--;
}

static void produce(struct edge *edge, struct session *session, enum location_kind kind, struct geo_point at, int64_t time) {
    uint8_t key[8];
    struct location location = {
        .user = session->user,
        .lat = at.lat,
        .lng = at.lng,
        .time = time,
        .kind = kind,
        .session = session->id,
        .route = session->route,
        .accuracy = session->accuracy,
    };
    copies_sharing(edge->copies, session->user, &location.opted);
    buffer_clear(&edge->record);
    event_encode_location(&edge->record, &location);
    bytes_put_be64(key, (uint64_t)session->user);
    int code = kafka_producer_up(edge->producer)
                   ? kafka_producer_send(edge->producer, TOPIC_LOCATIONS, KAFKA_PARTITION_BY_KEY, key, sizeof key, edge->record.data,
                                         edge->record.size, (void *)(uintptr_t)session->id)
                   : -EHOSTDOWN;
    if (kind == LOCATION_QUIT) return; /* a QUIT that is lost is made good by the next JOIN or by inactivity */
    session_unsent(edge, session, code != 0);
    if (code) return;
    edge->metrics.reports->value++;
    session->joined = true;
}

static bool opted_in(const struct edge *edge, const struct session *session) {
    int64_t offset;
    return copies_sharing(edge->copies, session->user, &offset) != SHARING_OFF;
}

/* The latest report, which the session holds; an older one goes past it. */
static void produce_report(struct edge *edge, struct session *session, struct geo_point at, int64_t time) {
    if (!opted_in(edge, session)) return;
    produce(edge, session, session->joined ? LOCATION_REPORT : LOCATION_JOIN, at, time);
}

void session_produce_latest(struct edge *edge, struct session *session) {
    session_unsent(edge, session, false);
    if (session->nearby.time >= 0) produce_report(edge, session, session->nearby.at, session->nearby.time);
}

void session_rejoin(struct edge *edge, struct session *session) {
    session->rejoin_ms = 0;
    if (!session->joined || session->nearby.time < 0 || !opted_in(edge, session)) return;
    edge->metrics.rejoins->value++;
    produce(edge, session, LOCATION_REJOIN, session->nearby.at, session->nearby.time);
}

void session_join_again(struct edge *edge, struct session *session, int64_t winner) {
    session->retried = true;
    map_remove(edge->ids, (uint64_t)session->id, NULL);
    session->id = winner + 1;
    *map_put(edge->ids, (uint64_t)session->id, NULL) = (uint64_t)(uintptr_t)session;
    session->joined = false;
    produce_report(edge, session, session->nearby.at, session->nearby.time);
}

/* ---- from the phone ---- */

static bool time_ahead(const struct edge *edge, int64_t time) {
    return service_settings(edge->service)->clock == SERVICE_CLOCK_WALL && time > clock_wall_ms() + AHEAD_MAX_MS;
}

static void report(struct edge *edge, struct session *session, const struct request *request) {
    if (time_ahead(edge, request->time)) {
        send_error(edge, session, "bad_time", "the time is ahead of the server's by more than a minute");
        return;
    }
    session->accuracy = request->accuracy;
    if (request->time >= session->nearby.time) {
        nearby_locate(&session->nearby, request->at, request->time);
        session->inactive = edge_now(edge) - request->time >= edge_inactive_ms(edge);
    }
    produce_report(edge, session, request->at, request->time);
    if (session->inactive) session_expire(edge, session);
    else session_changed(edge, session);
    sessions_flush_ready(edge);
}

static int verify(struct edge *edge, const struct request *request, struct auth_claims *claims, const char **code) {
    struct error error;
    int result = auth_verify(edge->auth, request->token, request->token_size, clock_wall_ms(), claims, &error);
    *code = result == -ETIME ? "token_expired" : "bad_token";
    return result ? result : claims->user < 0 ? -EACCES : 0;
}

static void greet(struct edge *edge, struct session *session, int64_t user) {
    int64_t now = clock_wall_ms();
    session->greeted = true;
    session->user = user;
    session->id = new_id(now);
    session->route = routes_choose(edge);
    session->first_page_ms = now + edge->settings.first_page_ms;
    table_add(edge, session);
    edge->metrics.hellos->value++;
    frame_welcome(&edge->frame, &(struct welcome){
                                    .user = user,
                                    .server_time = edge_now(edge),
                                    .report_every_s = edge->settings.report_every_s,
                                    .inactive_after_s = edge_inactive_ms(edge) / 1000,
                                    .radius_m = edge_radius(edge),
                                });
    send_frame(edge, session, 0);
}

static void hello(struct edge *edge, struct session *session, const struct request *request) {
    struct auth_claims claims;
    const char *code;
    if (verify(edge, request, &claims, &code)) {
        send_error(edge, session, code, "the token is not accepted");
        session_leave(edge, session, WS_POLICY, code, -1);
        return;
    }
    if (session->greeted && claims.user != session->user) {
        send_error(edge, session, "bad_token", "the token is another user's");
        session_leave(edge, session, WS_POLICY, "bad_token", -1);
        return;
    }
    session->token_expires_ms = claims.expires_ms;
    if (!session->greeted) greet(edge, session, claims.user);
    report(edge, session, request);
    if (!opted_in(edge, session) && !session->paged) send_page(edge, session, (struct nearby_cursor){-1, -1});
    session_schedule(edge, session);
}

static void handle(struct edge *edge, struct session *session, const struct request *request) {
    if (request->type == REQUEST_HELLO) {
        hello(edge, session, request);
    } else if (!session->greeted) {
        send_error(edge, session, "no_hello", "say hello first");
        session_leave(edge, session, WS_POLICY, "no hello", -1);
    } else if (request->type == REQUEST_LOCATION) {
        report(edge, session, request);
    } else if (ws_ready(session->connection)) {
        send_page(edge, session, request->after);
    } else {
        slow(edge, session);
    }
}

void sessions_message(void *context, struct ws_connection *connection, const char *text, size_t size) {
    struct edge *edge = context;
    struct session *session = ws_context(connection);
    struct request request;
    struct error error;
    const char *code;

    if (!session || session->leaving) return;
    if (request_parse(text, size, &request, &code, &error) == 0) {
        session->errors = 0;
        handle(edge, session, &request);
        return;
    }
    send_error(edge, session, code, error.text);
    if (!session->greeted || ++session->errors > ERRORS_MAX) session_leave(edge, session, WS_POLICY, code, -1);
}

void sessions_open(void *context, struct ws_connection *connection) {
    struct edge *edge = context;
    struct session *session = mem_alloc(sizeof *session);
    *session = (struct session){
        .connection = connection,
        .next = edge->sessions,
        .link = &edge->sessions,
        .opened_ms = clock_wall_ms(),
        .route = ROUTE_NONE,
        .accuracy = -1,
    };
    nearby_init(&session->nearby, edge_radius(edge));
    if (session->next) session->next->link = &session->next;
    edge->sessions = session;
    edge->metrics.sessions->value = (double)++edge->session_count;
    ws_set_context(connection, session);
    session_schedule(edge, session);
}

void sessions_writable(void *context, struct ws_connection *connection) {
    struct edge *edge = context;
    struct session *session = ws_context(connection);
    if (!session || session->leaving) return;
    session->slow_since_ms = 0;
    if (!session->paged && session->rostered) send_page(edge, session, (struct nearby_cursor){-1, -1});
    else if (owes_update(session)) flush(edge, session);
    else session_schedule(edge, session);
}

static void session_free(struct edge *edge, struct session *session) {
    if (session->greeted) table_remove(edge, session);
    session_unsent(edge, session, false);
    ready_remove(edge, session);
    wheel_clear(&session->deadline);
    wheel_clear(&session->expiry);
    *session->link = session->next;
    if (session->next) session->next->link = session->link;
    nearby_free(&session->nearby);
    edge->metrics.sessions->value = (double)--edge->session_count;
    free(session);
}

void sessions_close(void *context, struct ws_connection *connection, int code) {
    struct edge *edge = context;
    struct session *session = ws_context(connection);
    (void)code;
    if (!session) return;
    ws_set_context(connection, NULL);
    if (session->joined && !session->superseded) produce(edge, session, LOCATION_QUIT, session->nearby.at, session->nearby.time);
    session_free(edge, session);
}

/* ---- opting in and out ---- */

static void opted_out(struct edge *edge, struct session *session) {
    session->joined = false;
    session_unsent(edge, session, false);
    nearby_clear(&session->nearby);
    session_changed(edge, session);
}

void sessions_sharing(void *context, int64_t user, enum sharing_mode mode, int64_t offset) {
    struct edge *edge = context;
    (void)offset;
    for (struct session *session = sessions_of(edge, user); session; session = session->twin) {
        if (mode == SHARING_OFF) opted_out(edge, session);
        else if (!session->joined && session->nearby.time >= 0) session_produce_latest(edge, session);
    }
    if (mode == SHARING_OFF) {
        /* Whoever shows them stops at once; the routers' Left is then old news. */
        for (struct session *session = edge->sessions; session; session = session->next) {
            if (!nearby_find(&session->nearby, user)) continue;
            nearby_remove(&session->nearby, user);
            session_changed(edge, session);
        }
    }
    sessions_flush_ready(edge);
}

void sessions_free_all(struct edge *edge) {
    while (edge->sessions) session_free(edge, edge->sessions);
}
