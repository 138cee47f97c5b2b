#include "cli/phone.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/terminal.h"
#include "service/token.h"
#include "ws/ws.h"

enum {
    MESSAGE_MAX = 16 << 20,
    SECOND_MS = 1000,
    CONNECT_US = 10000000, /* the first time; later it goes on trying */
    RETRY_FIRST_MS = 500,
    RETRY_MAX_MS = 10000,
    TOKEN_TTL_MS = 24 * 3600 * 1000,
    STOP_SIGNALS = 2
};

static const char SUBPROTOCOL[] = "starling.v1";
static const char AUTHORITIES[] = "/etc/ssl/certs/ca-certificates.crt";

struct phone_socket {
    const struct phone_options *options;
    struct error *error;
    uv_loop_t loop;
    uv_signal_t signals[STOP_SIGNALS];
    struct loop_timer *second, *retry;
    struct loop_timer *ending; /* NULL before the end */
    struct token_issuer *issuer;
    struct ws_clients *clients;
    struct ws_connection *connection; /* NULL: none, or not open yet */
    struct buffer frame;
    bool welcomed, ever_welcomed, refused, closing;
    int64_t started_us, retry_ms;
    struct error trouble; /* what the server said was wrong last */
    int code;
};

bool phone_welcomed(const struct phone_socket *phone) { return phone->welcomed; }

void phone_send(struct phone_socket *phone, struct buffer *frame) {
    if (phone->connection) ws_send(phone->connection, frame);
}

/* ---- the end ---- */

static void on_closed(void *context) {
    struct phone_socket *phone = context;
    for (int i = 0; i < STOP_SIGNALS; i++) uv_close((uv_handle_t *)&phone->signals[i], NULL);
    loop_timer_free(phone->second);
    loop_timer_free(phone->retry);
    loop_timer_free(phone->ending);
}

static void shut_down(void *context) {
    struct phone_socket *phone = context;
    phone->options->end(phone->options->context);
    ws_clients_shutdown(phone->clients, on_closed, phone);
}

void phone_finish(struct phone_socket *phone, int code) {
    if (phone->closing) return;
    phone->closing = true;
    phone->code = code;
    phone->ending = loop_timer_new(&phone->loop, 1, 0, shut_down, phone);
}

/* ---- from the server ---- */

static int take_welcome(struct phone_socket *phone, const json_t *frame) {
    int64_t user;
    if (json_want_int(frame, "user", 0, INT64_MAX, &user, NULL)) return -EBADMSG;
    phone->welcomed = phone->ever_welcomed = user == phone->options->user;
    phone->retry_ms = RETRY_FIRST_MS;
    if (!phone->welcomed)
        phone_finish(phone, error_set(phone->error, -EINVAL, "the token is user %" PRId64 "'s", user));
    return 0;
}

static int take_error(struct phone_socket *phone, const json_t *frame) {
    const char *message = "";
    if (json_want_text(frame, "message", &message, NULL) == -EINVAL) return -EBADMSG;
    struct buffer text = {.data = NULL};
    terminal_put_text(&text, message);
    error_set(&phone->trouble, 0, "%s", buffer_cstring(&text));
    buffer_free(&text);
    if (phone->options->errors_end)
        phone_finish(phone, error_set(phone->error, -EPROTO, "%s: %s", phone->options->url, phone->trouble.text));
    return 0;
}

static int take_frame(struct phone_socket *phone, const json_t *frame) {
    const char *type;
    int64_t after_ms;
    int code = json_want_text(frame, "type", &type, NULL);
    if (!code && !strcmp(type, "welcome")) code = take_welcome(phone, frame);
    if (!code && !strcmp(type, "error")) code = take_error(phone, frame);
    if (!code && !strcmp(type, "reconnect") && !json_want_int(frame, "after_ms", 0, 3600000, &after_ms, NULL))
        phone->retry_ms = after_ms + 1;
    return code || phone->closing ? code : phone->options->take(phone->options->context, type, frame);
}

static void on_open(void *context, struct ws_connection *connection) {
    struct phone_socket *phone = context;
    const struct phone_options *options = phone->options;
    if (phone->closing) return;
    phone->connection = connection;
    phone->trouble.text[0] = '\0';
    char *made =
        options->token ? NULL : token_issue(phone->issuer, options->user, NULL, clock_wall_ms() + TOKEN_TTL_MS);
    options->hello(options->context, &phone->frame, made ? made : options->token);
    ws_send(connection, &phone->frame);
    free(made);
}

static void on_message(void *context, struct ws_connection *connection, const char *text, size_t size) {
    struct phone_socket *phone = context;
    if (phone->closing) return;
    struct error error = {.text = "a frame without meaning"};
    json_t *frame = json_parse(text, size, &error);
    if (!frame || take_frame(phone, frame))
        phone_finish(phone,
                     error_set(phone->error, -EBADMSG, "%s cannot be understood: %s", phone->options->url, error.text));
    json_decref(frame);
}

static void on_writable(void *context, struct ws_connection *connection) {}

/* The reason to give up, or NULL: try again. */
static const char *hopeless(const struct phone_socket *phone, int code) {
    switch (code) {
    case WS_POLICY: return "the server refuses the token";
    case WS_ENDED: return "the session was ended from another device";
    case WS_EXPIRED: return phone->options->token ? "the token has expired" : NULL;
    default: return NULL;
    }
}

static void on_close(void *context, struct ws_connection *connection, int code) {
    struct phone_socket *phone = context;
    const struct phone_options *options = phone->options;
    bool was_welcomed = phone->welcomed;
    phone->connection = NULL;
    phone->welcomed = false;
    phone->refused = true;
    if (phone->closing) return;
    const char *reason = hopeless(phone, code);
    if (reason) {
        phone_finish(phone, error_set(phone->error, -ECONNREFUSED, "%s: %s (close code %d%s%s)", options->url, reason,
                                      code, *phone->trouble.text ? ": " : "", phone->trouble.text));
        return;
    }
    loop_timer_again(phone->retry, (uint64_t)phone->retry_ms, 0);
    phone->retry_ms = phone->retry_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : phone->retry_ms * 2;
    if (was_welcomed && options->lost) options->lost(options->context);
}

static void connect_again(void *context) {
    struct phone_socket *phone = context;
    struct error error = {.text = ""};
    if (phone->closing) return;
    int code = ws_connect(phone->clients, phone->options->url, NULL, &error);
    if (code) phone_finish(phone, error_set(phone->error, code, "%s", error.text));
}

static void on_second(void *context) {
    struct phone_socket *phone = context;
    const struct phone_options *options = phone->options;
    if (phone->closing) return;
    if (!phone->ever_welcomed && clock_monotonic_us() - phone->started_us > CONNECT_US)
        phone_finish(phone, error_set(phone->error, -ETIMEDOUT, "%s: %s%s%s", options->url,
                                      phone->refused ? "no connection" : "it does not answer",
                                      *phone->trouble.text ? ": " : "", phone->trouble.text));
    else if (ferror(stdout))
        phone_finish(phone, error_set(phone->error, -EIO, "standard output cannot be written"));
    else if (options->second)
        options->second(options->context);
}

static void on_signal(uv_signal_t *handle, int number) { phone_finish(handle->data, 0); }

/* ---- the whole ---- */

static void start_timers(struct phone_socket *phone) {
    static const int NUMBERS[STOP_SIGNALS] = {SIGINT, SIGTERM};
    for (int i = 0; i < STOP_SIGNALS; i++) {
        uv_signal_init(&phone->loop, &phone->signals[i]);
        phone->signals[i].data = phone;
        uv_signal_start(&phone->signals[i], on_signal, NUMBERS[i]);
    }
    phone->second = loop_timer_new(&phone->loop, SECOND_MS, SECOND_MS, on_second, phone);
    phone->retry = loop_timer_new(&phone->loop, 1, 0, connect_again, phone);
}

static int run_loop(struct phone_socket *phone) {
    const struct phone_options *options = phone->options;
    const struct ws_clients_options clients = {
        .loop = &phone->loop,
        .subprotocol = SUBPROTOCOL,
        .max_message = MESSAGE_MAX,
        .tls_ca =
            strncmp(options->url, "wss://", 6) ? NULL : (options->authorities ? options->authorities : AUTHORITIES),
        .context = phone,
        .callbacks = {on_open, on_message, on_writable, on_close},
    };
    int code = ws_clients_new(&clients, &phone->clients, phone->error);
    if (code) return code;
    code = options->start(options->context, phone, &phone->loop, phone->error);
    start_timers(phone);
    if (code) phone_finish(phone, code);
    phone->started_us = clock_monotonic_us();
    uv_run(&phone->loop, UV_RUN_DEFAULT);
    fflush(stdout);
    ws_clients_free(phone->clients);
    return phone->code;
}

int phone_run(const struct phone_options *options, struct error *error) {
    struct phone_socket phone = {.options = options, .error = error, .retry_ms = RETRY_FIRST_MS};
    const char *key = options->cli->settings.hs256_key_file;
    if (!options->token && !*key)
        return error_set(error, -EINVAL, "neither --token nor auth.hs256.key.file, to sign one, is given");
    int code = options->token ? 0 : token_issuer_new(key, &phone.issuer, error);
    if (code) return code;
    if (uv_loop_init(&phone.loop)) {
        code = error_set(error, -EMFILE, "no event loop can be made: too few descriptors");
    } else {
        code = run_loop(&phone);
        uv_loop_close(&phone.loop);
    }
    token_issuer_free(phone.issuer);
    buffer_free(&phone.frame);
    return code;
}
