#include "fanout/phones.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "budget/network.h"
#include "budget/rates.h"
#include "fanout/edge_private.h"
#include "fanout/frames.h"
#include "fanout/request.h"
#include "service/http_origin.h"

enum { OVERLOAD_ROOM = 64 /* connections beyond the limit at once, to be told so */ };

static const int64_t TOKEN_MAX_MS = INT64_C(10) * 366 * 24 * 3600 * 1000; /* nobody keeps a socket open for longer */

struct phone_server {
    struct edge *edge;
    struct ws_server *server;
    struct http_proxies *proxies; /* NULL: none are trusted */
    struct rates *newcomers;      /* new connections, by network */
    uint32_t key_changes;         /* of the keys that sessions were last checked against */
    struct waiting_hello *waiting;
    uint64_t floods; /* connections closed because of too many messages */
};

static int verify(struct phone_server *phones, const struct request *request, struct auth_claims *claims,
                  const char **code, struct error *error) {
    int result = auth_verify(phones->edge->auth, request->token, request->token_size, clock_wall_ms(), claims, error);
    *code = result == -ETIME ? "token_expired" : "bad_token";
    if (result) return result;
    return claims->user < 0 ? error_set(error, -EACCES, "the token names no user") : 0;
}

static void say_welcome(struct phone_server *phones, struct session *session) {
    struct sessions *sessions = phones->edge->sessions;
    frame_welcome(sessions_frame(sessions),
                  &(struct welcome){
                      .user = session_user(session),
                      .session = session_number(session),
                      .server_time = protocol_now(&phones->edge->clock),
                      .report_every_s = phones->edge->settings.report_every_s,
                      .inactive_after_s = service_settings(phones->edge->service)->inactive_after_s,
                      .radius_m = service_settings(phones->edge->service)->radius_m,
                  });
    session_send(sessions, session);
}

static bool is_others(const struct session *session, const struct auth_claims *claims) {
    return session_greeted(session) && claims->user != session_user(session);
}

static void greet(struct phone_server *phones, struct session *session, json_t *object,
                  const struct auth_claims *claims) {
    struct sessions *sessions = phones->edge->sessions;
    int64_t left_ms = claims->expires_ms - clock_wall_ms();
    if (!session_greeted(session) &&
        !session_greet(sessions, session, claims->user, routes_choose(phones->edge->routes))) {
        session_leave(sessions, session, WS_OVERLOADED, "too_many_sessions", door_delay_alone(phones->edge->door));
        return;
    }
    session_renew(sessions, session, clock_coarse_ms() + (left_ms < TOKEN_MAX_MS ? left_ms : TOKEN_MAX_MS),
                  claims->key);
    say_welcome(phones, session);
    SCREENS_CALL(&phones->edge->screens, hello, session, object);
    session_schedule(sessions, session);
}

static void refuse(struct phone_server *phones, struct session *session, const char *code, const char *reason) {
    struct sessions *sessions = phones->edge->sessions;
    session_send_error(sessions, session, code, reason);
    session_leave(sessions, session, WS_POLICY, code, -1);
}

/* ---- hellos whose user's number is asked for ---- */

struct waiting_hello {
    struct phone_server *phones;
    struct session *session; /* NULL: it is gone */
    json_t *object;
    struct auth_claims claims;
    struct waiting_hello *previous, *next;
};

static void wait_over(struct waiting_hello *hello) {
    if (hello->next) hello->next->previous = hello->previous;
    if (hello->previous)
        hello->previous->next = hello->next;
    else
        hello->phones->waiting = hello->next;
    json_decref(hello->object);
    free(hello);
}

static void signed_in(void *context, int code, int64_t user, const char *external) {
    struct waiting_hello *hello = context;
    struct phone_server *phones = hello->phones;
    struct session *session = hello->session;
    hello->claims.user = user;
    if (session && !session_leaving(session) && phones->edge->closing == OPEN) {
        if (code)
            session_leave(phones->edge->sessions, session, WS_OVERLOADED, "overloaded",
                          door_delay_alone(phones->edge->door));
        else if (is_others(session, &hello->claims))
            refuse(phones, session, "bad_token", "the token is another user's");
        else if (!auth_has_key(phones->edge->auth, hello->claims.key)) // meanwhile
            refuse(phones, session, "bad_token", "the token's key is not known");
        else
            greet(phones, session, hello->object, &hello->claims);
        sessions_flush_ready(phones->edge->sessions);
    }
    wait_over(hello);
}

static void ask_for_number(struct phone_server *phones, struct session *session, json_t *object,
                           const struct auth_claims *claims) {
    struct waiting_hello *hello = MEM_NEW(&(struct waiting_hello){.phones = phones,
                                                                  .session = session,
                                                                  .object = json_incref(object),
                                                                  .claims = *claims,
                                                                  .next = phones->waiting});
    if (hello->next) hello->next->previous = hello;
    phones->waiting = hello;
    sign_ins_ask(phones->edge->sign_ins, claims->external, hello, signed_in);
}

static void forget_hellos(struct phone_server *phones, const struct session *session) {
    for (struct waiting_hello *hello = phones->waiting; hello; hello = hello->next)
        if (hello->session == session) hello->session = NULL;
}

/* ---- messages ---- */

/* The first hello opens the session; a later one renews its token. */
static int hello(struct phone_server *phones, struct session *session, const struct request *request, const char **code,
                 struct error *error) {
    struct auth_claims claims;
    if (screens_check(&phones->edge->screens, request->object, code, error)) return -EINVAL;
    if (verify(phones, request, &claims, code, error)) {
        refuse(phones, session, *code, error->text);
    } else if (!sign_ins_know(phones->edge->sign_ins, &claims)) {
        ask_for_number(phones, session, request->object, &claims);
    } else if (is_others(session, &claims)) {
        *code = "bad_token";
        refuse(phones, session, *code, "the token is another user's");
    } else {
        greet(phones, session, request->object, &claims);
    }
    return 0;
}

/* 0: it was taken, or has ended the session; -EINVAL: it was refused. */
static int handle(struct phone_server *phones, struct session *session, const struct request *request,
                  const char **code, struct error *error) {
    if (request->hello) return hello(phones, session, request, code, error);
    if (!session_greeted(session)) {
        *code = "no_hello";
        return error_set(error, -EINVAL, "say hello first");
    }
    int result = screens_message(&phones->edge->screens, session, request->type, request->object, code, error);
    return result == -ENOENT ? request_unknown(request, code, error) : result;
}

static bool floods(struct phone_server *phones, struct session *session) {
    if (!talk_floods(session_talk(session), clock_monotonic_us(), phones->edge->settings.max_messages)) return false;
    phones->floods++;
    session_leave(phones->edge->sessions, session, WS_POLICY, "too_many_messages", -1);
    return true;
}

static void on_message(void *context, struct ws_connection *connection, const char *text, size_t size) {
    struct phone_server *phones = context;
    struct sessions *sessions = phones->edge->sessions;
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

/* The phone's network. 0, which has no limit: a proxy or a test on this machine. It pays for a connection when that comes, in front of
 * TLS; for one of a trusted proxy when that has said whose it is. */
static bool origin(void *context, const struct sockaddr *peer, const char *forwarded, uint64_t *network) {
    static const uint64_t THIS_MACHINE = (uint64_t)0xffff << 32 | 0x7f000001; /* 127.0.0.1; of ::1 it is 0 */
    const struct phone_server *phones = context;
    bool proxied = phones->proxies && http_proxies_trust(phones->proxies, peer);
    uint64_t address = http_origin_behind(phones->proxies, http_address_of(peer), forwarded);
    *network = address == THIS_MACHINE ? 0 : network_of_address(address);
    if (!*network || proxied != (forwarded != NULL)) return true;
    return !rates_take(phones->newcomers, *network, 1, clock_coarse_ms());
}

static void on_open(void *context, struct ws_connection *connection) {
    struct phone_server *phones = context;
    ws_set_context(connection, door_admit(phones->edge->door, connection));
}

static void on_writable(void *context, struct ws_connection *connection) {
    struct phone_server *phones = context;
    struct session *session = ws_context(connection);
    if (session && !session_leaving(session)) session_writable(phones->edge->sessions, session);
}

static void on_close(void *context, struct ws_connection *connection, int code) {
    struct phone_server *phones = context;
    struct session *session = ws_context(connection);
    if (!session) return;
    ws_set_context(connection, NULL);
    forget_hellos(phones, session);
    session_closed(phones->edge->sessions, session);
}

/* ---- the server ---- */

static void set_refused(struct metrics *m, const char *labels, uint64_t value) {
    metrics_counter(m, "starling_edge_handshakes_refused_total", "Connections that became no session.", labels)->value =
        (double)value;
}

static void collect(void *context) {
    const struct phone_server *phones = context;
    const struct ws_counts *counts = ws_server_counts(phones->server);
    int64_t end_s = ws_server_expires(phones->server);
    const struct metric_now now[] = {
        {"starling_edge_dead_total", "Connections dropped because no ping was answered.", (double)counts->dead},
        {"starling_edge_floods_total", "Connections closed because of too many pings or messages.",
         (double)(counts->floods + phones->floods)},
        {"starling_edge_certificate_end_seconds", "When the certificate ends, since the epoch.",
         end_s < 0 ? (double)NAN : (double)end_s},
    };
    struct metrics *m = service_metrics(phones->edge->service);
    set_refused(m, "reason=\"no_upgrade\"", counts->refused);
    set_refused(m, "reason=\"late\"", counts->late);
    set_refused(m, "reason=\"crowded\"", counts->evicted);
    set_refused(m, "reason=\"origin\"", counts->origins);
    metrics_set(m, now, ARRAY_SIZE(now));
}

int phones_new(struct edge *edge, struct phone_server **made, struct error *error) {
    const struct fanout_settings *settings = &edge->settings;
    struct phone_server *phones = MEM_NEW(&(struct phone_server){.edge = edge});
    int result = http_proxies_new(settings->trusted_proxies, &phones->proxies, error); /* edge_check has read it */
    if (result) goto finish;
    phones->newcomers = rates_new(&(struct rates_options){.metrics = service_metrics(edge->service),
                                                          .what = "new_connections",
                                                          .by = "network",
                                                          .per_second = settings->network_rate,
                                                          .burst = settings->network_burst});
    result = ws_server_new(
        &(struct ws_server_options){
            .loop = service_loop(edge->service),
            .listen = settings->listen,
            .subprotocol = "starling.v1",
            .max_message = (size_t)settings->max_message,
            .max_connections = (unsigned)settings->max_sessions + OVERLOAD_ROOM,
            .ping_s = (unsigned)settings->ping_s,
            .handshake_s = (unsigned)settings->handshake_s,
            .origins = settings->allowed_origins,
            .tls_certificate = settings->tls_certificate,
            .tls_key = settings->tls_key,
            .context = phones,
            .callbacks = {on_open, on_message, on_writable, on_close},
            .origin = origin,
        },
        &phones->server, error);
    if (result) goto finish;
    metrics_on_collect(service_metrics(edge->service), collect, phones);
    *made = phones;
finish:
    if (result) {
        rates_free(phones->newcomers);
        http_proxies_free(phones->proxies);
        free(phones);
    }
    return result;
}

void phones_check_keys(struct phone_server *phones) {
    uint32_t changes = auth_changes(phones->edge->auth);
    if (changes == phones->key_changes) return;
    phones->key_changes = changes;
    sessions_check_keys(phones->edge->sessions, phones->edge->auth);
}

struct ws_server *phones_server(const struct phone_server *phones) {
    return phones->server;
}

int phones_renew(struct phone_server *phones, struct error *error) { return ws_server_renew(phones->server, error); }

void phones_shutdown(struct phone_server *phones, loop_fn *closed, void *context) {
    ws_server_shutdown(phones->server, WS_RESTART, closed, context);
}

void phones_free(struct phone_server *phones) {
    if (!phones) return;
    ws_server_free(phones->server);
    rates_free(phones->newcomers);
    http_proxies_free(phones->proxies);
    free(phones);
}
