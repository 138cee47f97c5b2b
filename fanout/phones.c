#include "fanout/phones.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fanout/frames.h"
#include "fanout/request.h"

static const int64_t TOKEN_MAX_MS = INT64_C(10) * 366 * 24 * 3600 * 1000; /* nobody keeps a socket open for longer */

struct phones {
    struct phones_options options;
    uint64_t floods;
};

static int verify(struct phones *phones, const struct session *session, const struct request *request,
                  struct auth_claims *claims, const char **code, struct error *error) {
    int result = auth_verify(phones->options.auth, request->token, request->token_size, clock_wall_ms(), claims, error);
    *code = result == -ETIME ? "token_expired" : "bad_token";
    if (result) return result;
    if (claims->user < 0) return error_set(error, -EACCES, "the token names no user");
    if (session_greeted(session) && claims->user != session_user(session))
        return error_set(error, -EACCES, "the token is another user's");
    return 0;
}

static void welcome(struct phones *phones, struct session *session) {
    struct sessions *sessions = phones->options.sessions;
    frame_welcome(sessions_frame(sessions), &(struct welcome){
                                                .user = session_user(session),
                                                .server_time = protocol_now(phones->options.clock),
                                                .report_every_s = phones->options.settings->report_every_s,
                                                .inactive_after_s = phones->options.common->inactive_after_s,
                                                .radius_m = phones->options.common->radius_m,
                                            });
    session_send(sessions, session);
}

static int check_hello(const struct phones *phones, const struct request *request, const char **code,
                       struct error *error) {
    const struct screen_set *screens = phones->options.screens;
    int result = 0;
    for (size_t i = 0; i < screens->count && !result; i++) {
        const struct screen *screen = screens->at[i].screen;
        if (screen->check) result = screen->check(request->object, code, error);
    }
    return result;
}

/* The first hello opens the session; a later one renews its token. */
static int hello(struct phones *phones, struct session *session, const struct request *request, const char **code,
                 struct error *error) {
    struct sessions *sessions = phones->options.sessions;
    const struct screen_set *screens = phones->options.screens;
    struct auth_claims claims;
    if (check_hello(phones, request, code, error)) return -EINVAL;
    if (verify(phones, session, request, &claims, code, error)) {
        session_send_error(sessions, session, *code, error->text);
        session_leave(sessions, session, WS_POLICY, *code, -1);
        return 0;
    }
    int64_t left_ms = claims.expires_ms - clock_wall_ms();
    session_renew(sessions, session, clock_coarse_ms() + (left_ms < TOKEN_MAX_MS ? left_ms : TOKEN_MAX_MS));
    if (!session_greeted(session)) session_greet(sessions, session, claims.user, routes_choose(phones->options.routes));
    welcome(phones, session);
    for (size_t i = 0; i < screens->count; i++) {
        const struct screen_running *at = &screens->at[i];
        if (at->screen->hello) at->screen->hello(at->product, session, request->object);
    }
    session_schedule(sessions, session);
    return 0;
}

static int give_to_screens(struct phones *phones, struct session *session, const struct request *request,
                           const char **code, struct error *error) {
    const struct screen_set *screens = phones->options.screens;
    for (size_t i = 0; i < screens->count; i++) {
        const struct screen_running *at = &screens->at[i];
        if (!at->screen->message) continue;
        int result = at->screen->message(at->product, session, request->type, request->object, code, error);
        if (result != -ENOENT) return result;
    }
    return request_unknown(code, error);
}

/* 0: it was taken, or has ended the session; -EINVAL: it was refused. */
static int handle(struct phones *phones, struct session *session, const struct request *request, const char **code,
                  struct error *error) {
    if (request->hello) return hello(phones, session, request, code, error);
    if (session_greeted(session)) return give_to_screens(phones, session, request, code, error);
    *code = "no_hello";
    return error_set(error, -EINVAL, "say hello first");
}

static bool floods(struct phones *phones, struct session *session) {
    if (!talk_floods(session_talk(session), clock_monotonic_us(), phones->options.settings->max_messages)) return false;
    phones->floods++;
    session_leave(phones->options.sessions, session, WS_POLICY, "too_many_messages", -1);
    return true;
}

void phones_message(void *context, struct ws_connection *connection, const char *text, size_t size) {
    struct phones *phones = context;
    struct sessions *sessions = phones->options.sessions;
    struct session *session = ws_context(connection);
    struct request request;
    struct error error;
    const char *code;

    if (!session || session_leaving(session) || floods(phones, session)) return;
    int result = request_parse(text, size, &request, &code, &error);
    if (result == 0) {
        result = handle(phones, session, &request, &code, &error);
        request_free(&request);
    }
    if (result == 0) {
        talk_was_good(session_talk(session));
    } else {
        session_send_error(sessions, session, code, error.text);
        if (talk_was_bad(session_talk(session)) || !session_greeted(session))
            session_leave(sessions, session, WS_POLICY, code, -1);
    }
    sessions_flush_ready(sessions);
}

void phones_open(void *context, struct ws_connection *connection) {
    struct phones *phones = context;
    if (door_admits(phones->options.door, connection))
        ws_set_context(connection, session_new(phones->options.sessions, connection));
}

void phones_writable(void *context, struct ws_connection *connection) {
    struct phones *phones = context;
    struct session *session = ws_context(connection);
    if (session && !session_leaving(session)) session_writable(phones->options.sessions, session);
}

void phones_close(void *context, struct ws_connection *connection, int code) {
    struct phones *phones = context;
    struct session *session = ws_context(connection);
    (void)code;
    if (!session) return;
    ws_set_context(connection, NULL);
    session_closed(phones->options.sessions, session);
}

struct phones *phones_new(const struct phones_options *options) {
    struct phones *phones = mem_alloc(sizeof *phones);
    *phones = (struct phones){.options = *options};
    return phones;
}

uint64_t phones_floods(const struct phones *phones) { return phones->floods; }

void phones_free(struct phones *phones) { free(phones); }
