/* Connections, and what the phones on them say. */
#include <errno.h>

#include "base/clock.h"
#include "fanout/edge.h"

enum {
    BURST_S = 2,          /* messages of so long may come at once */
    AHEAD_MAX_MS = 60000, /* a report further ahead of the machine's clock is refused */
    ERRORS_MAX = 20       /* bad messages in a row before the connection is closed */
};

static const int64_t TOKEN_MAX_MS = INT64_C(10) * 366 * 24 * 3600 * 1000; /* nobody keeps a socket open for longer */

static bool time_ahead(const struct edge *edge, int64_t time) {
    return service_settings(edge->service)->clock == SERVICE_CLOCK_WALL && time > clock_wall_ms() + AHEAD_MAX_MS;
}

static void report(struct edge *edge, struct session *session, const struct request *request) {
    if (time_ahead(edge, request->time)) {
        session_send_error(edge, session, "bad_time", "the time is ahead of the server's by more than a minute");
        return;
    }
    report_produce(edge, session, &(struct report){request->at, request->time, request->accuracy});
    session_moved(edge, session);
}

static int verify(struct edge *edge, const struct session *session, const struct request *request,
                  struct auth_claims *claims, const char **code, struct error *error) {
    int result = auth_verify(edge->auth, request->token, request->token_size, clock_wall_ms(), claims, error);
    *code = result == -ETIME ? "token_expired" : "bad_token";
    if (result) return result;
    if (claims->user < 0) return error_set(error, -EACCES, "the token names no user");
    if (session->greeted && claims->user != session->user)
        return error_set(error, -EACCES, "the token is another user's");
    return 0;
}

static void welcome(struct edge *edge, struct session *session) {
    frame_welcome(&edge->frame, &(struct welcome){
                                    .user = session->user,
                                    .server_time = edge_now(edge),
                                    .report_every_s = edge->settings.report_every_s,
                                    .inactive_after_s = edge_inactive_ms(edge) / 1000,
                                    .radius_m = edge_radius(edge),
                                });
    session_send(edge, session, 0);
}

/* The first hello opens the session; a later one renews its token, and is a report as well. */
static void hello(struct edge *edge, struct session *session, const struct request *request) {
    struct auth_claims claims;
    const char *code;
    struct error error;
    if (verify(edge, session, request, &claims, &code, &error)) {
        session_send_error(edge, session, code, error.text);
        session_leave(edge, session, WS_POLICY, code, -1);
        return;
    }
    int64_t left_ms = claims.expires_ms - clock_wall_ms();
    session->token_expires_ms = edge_clock() + (left_ms < TOKEN_MAX_MS ? left_ms : TOKEN_MAX_MS);
    if (!session->greeted) session_greet(edge, session, claims.user);
    welcome(edge, session);
    report(edge, session, request);
    if (!report_wanted(edge, session) && !session->paged)
        session_send_page(edge, session, (struct nearby_cursor){-1, -1});
    session_schedule(edge, session);
}

static void handle(struct edge *edge, struct session *session, const struct request *request) {
    if (request->type == REQUEST_HELLO) {
        hello(edge, session, request);
    } else if (!session->greeted) {
        session_send_error(edge, session, "no_hello", "say hello first");
        session_leave(edge, session, WS_POLICY, "no_hello", -1);
    } else if (request->type == REQUEST_LOCATION) {
        report(edge, session, request);
    } else {
        session_send_page(edge, session, request->after);
    }
}

/* Counts a message; true: there were too many, and the session ends. */
static bool floods(struct edge *edge, struct session *session) {
    int64_t now_us = clock_monotonic_us(),
            gap_us = edge->settings.max_messages ? 1000000 / edge->settings.max_messages : 0;
    if (session->message_us < now_us) session->message_us = now_us;
    session->message_us += gap_us;
    if (session->message_us - now_us <= BURST_S * INT64_C(1000000)) return false;
    edge->message_floods++;
    session_leave(edge, session, WS_POLICY, "too_many_messages", -1);
    return true;
}

void phones_message(void *context, struct ws_connection *connection, const char *text, size_t size) {
    struct edge *edge = context;
    struct session *session = ws_context(connection);
    struct request request;
    struct error error;
    const char *code;

    if (!session || session->leaving || floods(edge, session)) return;
    if (request_parse(text, size, &request, &code, &error) == 0) {
        session->errors = 0;
        handle(edge, session, &request);
        return;
    }
    session_send_error(edge, session, code, error.text);
    if (!session->greeted || ++session->errors > ERRORS_MAX) session_leave(edge, session, WS_POLICY, code, -1);
}

void phones_open(void *context, struct ws_connection *connection) {
    struct edge *edge = context;
    if (door_admits(edge, connection)) ws_set_context(connection, session_new(edge, connection));
}

void phones_writable(void *context, struct ws_connection *connection) {
    struct session *session = ws_context(connection);
    if (session && !session->leaving) session_writable(context, session);
}

void phones_close(void *context, struct ws_connection *connection, int code) {
    struct edge *edge = context;
    struct session *session = ws_context(connection);
    (void)code;
    if (!session) return;
    ws_set_context(connection, NULL);
    report_quit(edge, session);
    session_free(edge, session);
}
