/* `starling watch` shows the list of one user's phone in a terminal. It is one more device of that user: the phone's connection ends
 * when this one begins. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/instant.h"
#include "base/mem.h"
#include "cli/audit.h"
#include "cli/cli.h"
#include "cli/past.h"
#include "cli/phone_frame.h"
#include "cli/reader.h"
#include "cli/screen.h"
#include "cli/terminal.h"
#include "service/token.h"
#include "ws/ws.h"

enum {
    MESSAGE_MAX = 16 << 20,
    TICK_MS = 1000,
    CONNECT_US = 10000000, /* the first time; later it goes on trying */
    RETRY_FIRST_MS = 500,
    RETRY_MAX_MS = 10000,
    TOKEN_TTL_MS = 3600 * 1000,
    LOOK_BACK_MS = 24 * 3600 * 1000, /* for a last position, when none is given */
    STOP_SIGNALS = 2
};

static const char SUBPROTOCOL[] = "starling.v1";
static const char AUTHORITIES[] = "/etc/ssl/certs/ca-certificates.crt";

struct live_watch {
    struct cli cli;
    const char *url, *token; /* token NULL: we sign our own */
    int64_t user;
    struct geo_point at;
    bool placed; /* `at` is known */
    uv_loop_t loop;
    uv_signal_t signals[STOP_SIGNALS];
    struct loop_timer *tick, *report, *retry;
    struct loop_timer *ending; /* NULL before the end */
    struct token_issuer *issuer;
    struct ws_clients *clients;
    struct ws_connection *connection; /* NULL: none, or not open yet */
    struct watch_screen *screen;
    struct buffer frame, picture;
    bool page;                 /* redrawn in the terminal; else a line for each change */
    struct terminal *terminal; /* NULL: no page, or not yet, or no longer */
    bool welcomed, ever_welcomed, closing;
    int64_t started_us;
    int64_t clock_ahead_ms; /* the server's clock before ours */
    int64_t radius_m, retry_ms;
    struct error trouble; /* what the server said was wrong last */
    int code;
    struct error *error;
};

static int64_t now_ms(const struct live_watch *watch) { return clock_wall_ms() + watch->clock_ahead_ms; }

static void on_closed(void *context) {
    struct live_watch *watch = context;
    for (int i = 0; i < STOP_SIGNALS; i++) uv_close((uv_handle_t *)&watch->signals[i], NULL);
    loop_timer_free(watch->tick);
    loop_timer_free(watch->report);
    loop_timer_free(watch->retry);
    loop_timer_free(watch->ending);
    terminal_free(watch->terminal);
    watch->terminal = NULL;
}

static void shut_down(void *context) {
    struct live_watch *watch = context;
    ws_clients_shutdown(watch->clients, on_closed, watch);
}

/* Ends everything, outside of the callback in which that was decided: a connection may just be closing in it. */
static void finish(struct live_watch *watch, int code) {
    if (watch->closing) return;
    watch->closing = true;
    watch->code = code;
    watch->ending = loop_timer_new(&watch->loop, 1, 0, shut_down, watch);
}

/* ---- showing ---- */

static void draw(void *context) {
    struct live_watch *watch = context;
    if (!watch->terminal || watch->closing) return;
    size_t count;
    int rows, columns;
    terminal_size(&rows, &columns);
    screen_sorted(watch->screen, &count);
    char *heading =
        mem_format("User %" PRId64 " at %.5f, %.5f: %zu near within %" PRId64 " m%s", watch->user, watch->at.lat / 1e7,
                   watch->at.lng / 1e7, count, watch->radius_m, watch->welcomed ? "" : " (connecting)");
    buffer_clear(&watch->picture);
    screen_draw(watch->screen, &watch->picture, heading, now_ms(watch), rows);
    terminal_draw(watch->terminal, (const char *)watch->picture.data, watch->picture.size);
    free(heading);
}

/* A line, when the output is no terminal. */
static void note(struct live_watch *watch, const char *what) {
    char when[INSTANT_TEXT_SIZE];
    if (watch->page) return;
    printf("%s %s\n", instant_format(clock_wall_ms(), when), what);
    fflush(stdout);
}

static void on_change(void *context, enum screen_change change, const struct screen_friend *who) {
    static const char *const WORDS[] = {[SCREEN_CAME] = "near", [SCREEN_MOVED] = "moved", [SCREEN_LEFT] = "gone"};
    struct live_watch *watch = context;
    if (watch->page) return;
    struct buffer line = {.data = NULL};
    buffer_format(&line, "%s %" PRId64, WORDS[change], who->user);
    if (change != SCREEN_LEFT) {
        buffer_byte(&line, ' ');
        screen_put_distance(&line, who->distance_m);
        buffer_byte(&line, ' ');
        terminal_put_text(&line, who->name);
    }
    note(watch, buffer_cstring(&line));
    buffer_free(&line);
}

/* ---- to the server ---- */

static void send_hello(struct live_watch *watch) {
    char *made = watch->token ? NULL : token_issue(watch->issuer, watch->user, clock_wall_ms() + TOKEN_TTL_MS);
    phone_frame_hello(&watch->frame, made ? made : watch->token, watch->at, now_ms(watch));
    ws_send(watch->connection, &watch->frame);
    free(made);
}

/* Keeps the user active, as a phone does. */
static void send_report(void *context) {
    struct live_watch *watch = context;
    if (!watch->welcomed) return;
    phone_frame_location(&watch->frame, watch->at, now_ms(watch));
    ws_send(watch->connection, &watch->frame); // one that cannot be sent is as good as lost: the next follows
}

static void send_more(struct live_watch *watch, const char *after) {
    phone_frame_more(&watch->frame, after);
    ws_send(watch->connection, &watch->frame);
}

static void connect_again(void *context) {
    struct live_watch *watch = context;
    struct error error = {.text = ""};
    if (watch->closing) return;
    int code = ws_connect(watch->clients, watch->url, NULL, &error);
    if (code) finish(watch, error_set(watch->error, code, "%s", error.text));
}

/* ---- from the server ---- */

static int take_welcome(struct live_watch *watch, const json_t *frame) {
    int64_t user, server_time, report_every_s;
    double radius_m;
    if (json_want_int(frame, "user", 0, INT64_MAX, &user, NULL) ||
        json_want_int(frame, "server_time", 0, INT64_MAX, &server_time, NULL) ||
        json_want_int(frame, "report_every_s", 1, 86400, &report_every_s, NULL) ||
        json_want_real(frame, "radius_m", 0, 1e9, &radius_m, NULL)) {
        return -EBADMSG;
    }
    if (user != watch->user) {
        finish(watch, error_set(watch->error, -EINVAL, "the token is user %" PRId64 "'s", user));
        return 0;
    }
    watch->clock_ahead_ms = server_time - clock_wall_ms();
    watch->radius_m = (int64_t)radius_m;
    watch->welcomed = watch->ever_welcomed = true;
    watch->retry_ms = RETRY_FIRST_MS;
    loop_timer_again(watch->report, (uint64_t)report_every_s * 1000, (uint64_t)report_every_s * 1000);
    note(watch, "connected");
    return 0;
}

static int take_nearby(struct live_watch *watch, const json_t *frame) {
    const char *next = NULL;
    int code = screen_nearby(watch->screen, frame, &next);
    if (!code && next) send_more(watch, next);
    return code;
}

static int take_error(struct live_watch *watch, const json_t *frame) {
    const char *message = "";
    if (json_want_text(frame, "message", &message, NULL) == -EINVAL) return -EBADMSG;
    struct buffer text = {.data = NULL};
    terminal_put_text(&text, message);
    error_set(&watch->trouble, 0, "%s", buffer_cstring(&text));
    buffer_free(&text);
    return 0;
}

static int take_frame(struct live_watch *watch, const json_t *frame) {
    const char *type;
    int64_t after_ms;
    if (json_want_text(frame, "type", &type, NULL)) return -EBADMSG;
    if (!strcmp(type, "welcome")) return take_welcome(watch, frame);
    if (!strcmp(type, "nearby")) return take_nearby(watch, frame);
    if (!strcmp(type, "update")) return screen_update(watch->screen, frame);
    if (!strcmp(type, "error")) return take_error(watch, frame);
    if (!strcmp(type, "reconnect") && !json_want_int(frame, "after_ms", 0, 3600000, &after_ms, NULL))
        watch->retry_ms = after_ms + 1;
    return 0; // a newer server may say more than we know
}

static void on_open(void *context, struct ws_connection *connection) {
    struct live_watch *watch = context;
    if (watch->closing) return;
    watch->connection = connection;
    watch->trouble.text[0] = '\0';
    screen_begin(watch->screen);
    send_hello(watch);
}

static void on_message(void *context, struct ws_connection *connection, const char *text, size_t size) {
    struct live_watch *watch = context;
    if (watch->closing) return;
    struct error error = {.text = "a frame without meaning"};
    json_t *frame = json_parse(text, size, &error);
    if (!frame || take_frame(watch, frame))
        finish(watch, error_set(watch->error, -EBADMSG, "the server cannot be understood: %s", error.text));
    json_decref(frame);
    draw(watch);
}

static void on_writable(void *context, struct ws_connection *connection) {}

/* The reason to give up, or NULL: try again. */
static const char *hopeless(const struct live_watch *watch, int code) {
    switch (code) {
    case WS_POLICY: return "the server refuses the token";
    case WS_SUPERSEDED: return "the user has connected elsewhere";
    case WS_EXPIRED: return watch->token ? "the token has expired" : NULL;
    default: return watch->ever_welcomed ? NULL : "no connection";
    }
}

static void on_close(void *context, struct ws_connection *connection, int code) {
    struct live_watch *watch = context;
    bool was_welcomed = watch->welcomed;
    watch->connection = NULL;
    watch->welcomed = false;
    if (watch->closing) return;
    const char *reason = hopeless(watch, code);
    if (reason) {
        finish(watch, error_set(watch->error, -ECONNREFUSED, "%s: %s (close code %d%s%s)", watch->url, reason, code,
                                *watch->trouble.text ? ": " : "", watch->trouble.text));
        return;
    }
    if (was_welcomed) note(watch, "disconnected");
    loop_timer_again(watch->retry, (uint64_t)watch->retry_ms, 0);
    watch->retry_ms = watch->retry_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : watch->retry_ms * 2;
    draw(watch);
}

static void on_tick(void *context) {
    struct live_watch *watch = context;
    if (!watch->ever_welcomed && clock_monotonic_us() - watch->started_us > CONNECT_US)
        finish(watch, error_set(watch->error, -ETIMEDOUT, "%s does not answer", watch->url));
    if (ferror(stdout)) finish(watch, error_set(watch->error, -EIO, "standard output cannot be written"));
    draw(watch);
}

static void on_signal(uv_signal_t *handle, int number) { finish(handle->data, 0); }

/* ---- the command ---- */

static void start_timers(struct live_watch *watch) {
    static const int NUMBERS[STOP_SIGNALS] = {SIGINT, SIGTERM};
    for (int i = 0; i < STOP_SIGNALS; i++) {
        uv_signal_init(&watch->loop, &watch->signals[i]);
        watch->signals[i].data = watch;
        uv_signal_start(&watch->signals[i], on_signal, NUMBERS[i]);
    }
    watch->tick = loop_timer_new(&watch->loop, TICK_MS, TICK_MS, on_tick, watch);
    watch->retry = loop_timer_new(&watch->loop, 1, 0, connect_again, watch);
    // The server's welcome says how often; until then nothing is reported.
    watch->report = loop_timer_new(&watch->loop, CONNECT_US / 1000, 0, send_report, watch);
}

static int watch_run(struct live_watch *watch, const char *authorities) {
    const bool secure = !strncmp(watch->url, "wss://", 6);
    int code = 0;
    if (!watch->token) {
        const char *file = watch->cli.settings.hs256_key_file;
        if (!*file)
            return error_set(watch->error, -EINVAL, "neither --token nor auth.hs256.key.file, to sign one, is given");
        code = token_issuer_new(file, &watch->issuer, watch->error);
    }
    if (code || uv_loop_init(&watch->loop)) return code ? code : error_set(watch->error, -EMFILE, "no event loop");
    code = ws_clients_new(
        &(struct ws_clients_options){
            .loop = &watch->loop,
            .subprotocol = SUBPROTOCOL,
            .max_message = MESSAGE_MAX,
            .tls_ca = secure ? authorities : NULL,
            .context = watch,
            .callbacks = {on_open, on_message, on_writable, on_close},
        },
        &watch->clients, watch->error);
    if (!code) {
        watch->started_us = clock_monotonic_us();
        start_timers(watch);
        if (watch->page) {
            watch->terminal = terminal_new(
                &(struct terminal_options){.loop = &watch->loop, .context = watch, .redraw = draw, .on_key = NULL});
        }
        draw(watch);
        uv_run(&watch->loop, UV_RUN_DEFAULT);
        fflush(stdout);
        code = watch->code;
    }
    ws_clients_free(watch->clients);
    uv_loop_close(&watch->loop);
    return code;
}

static void keep_place(void *context, const struct track_report *report) {
    struct live_watch *watch = context;
    watch->at = (struct geo_point){.lat = report->lat, .lng = report->lng};
    watch->placed = true;
}

/* Finds the last place of the user. */
static int find_place(struct live_watch *watch) {
    int64_t now = clock_wall_ms();
    const struct past_question question = {
        .user = watch->user,
        .from_ms = now - LOOK_BACK_MS,
        .to_ms = INT64_MAX,
        .context = watch,
        .take = keep_place,
    };
    struct past *past = NULL;
    int code = past_new(&watch->cli, &past, watch->error);
    if (!code) code = past_read(past, &question, watch->error);
    past_free(past);
    if (code == -EHOSTDOWN) return code;
    if (code) return error_prefix(watch->error, code, "where the user is, without --at");
    if (watch->placed) return 0;
    return error_set(watch->error, -ENOENT, "the user has reported nothing for a day: give --at LAT,LNG");
}

static int start(struct live_watch *watch, const char *authorities) {
    const struct watch_screen_options options = {.context = watch, .on_change = on_change};
    // With the user's own token the operator is not needed.
    struct topics_shape shape;
    int code = watch->token ? 0 : reader_shape(&watch->cli, &shape, watch->error);
    if (!code && !watch->token) code = audit_read(&watch->cli, "", &watch->user, 1, watch->error);
    if (!code && !watch->placed) code = find_place(watch);
    if (!code) {
        watch->screen = screen_new(&options);
        screen_place(watch->screen, watch->at);
        code = watch_run(watch, authorities);
    }
    token_issuer_free(watch->issuer);
    screen_free(watch->screen);
    buffer_free(&watch->frame);
    buffer_free(&watch->picture);
    return code ? cli_fail(&WATCH_COMMAND, 1, "%s", watch->error->text) : 0;
}

static int run(int argc, char **argv) {
    const char *at = NULL, *url = NULL, *token = NULL, *authorities = AUTHORITIES;
    bool done;
    const struct cli_option options[] = {
        {"at", "LAT,LNG", "where the user is, in degrees (where they last reported)", &at, NULL},
        {"ws", "URL", "WebSocket address of the edge (ws.url)", &url, NULL},
        {"token", "TOKEN", "the user's token (signed with auth.hs256.key.file)", &token, NULL},
        {"ca", "FILE", "PEM file of the authorities to trust for wss://", &authorities, NULL},
    };
    struct error error = {.text = ""};
    struct live_watch watch = {.error = &error, .retry_ms = RETRY_FIRST_MS, .page = terminal_is_there()};
    int code = cli_open(&watch.cli, &WATCH_COMMAND, argc, argv, options, ARRAY_SIZE(options), &done);
    if (code || done) return code;
    if (!url) url = watch.cli.settings.ws_url;
    watch.url = url;
    watch.token = token;
    if (cli_one_user(&watch.cli, &watch.user)) {
        code = CLI_WRONG_USAGE;
    } else if (at && !cli_place(at, &watch.at)) {
        code = cli_fail(&WATCH_COMMAND, CLI_WRONG_USAGE, "--at %s: must be LAT,LNG in degrees", at);
    } else if (strncmp(url, "ws://", 5) && strncmp(url, "wss://", 6)) {
        code = cli_fail(&WATCH_COMMAND, CLI_WRONG_USAGE, "--ws %s: must begin with ws:// or wss://", url);
    } else {
        watch.placed = at != NULL;
        code = start(&watch, authorities);
    }
    cli_close(&watch.cli);
    return code;
}

const struct cli_command WATCH_COMMAND = {
    .name = "watch",
    .synopsis = "USER [--at LAT,LNG] [--ws URL] [--token TOKEN] [--ca FILE]",
    .summary = "a user's list as it changes",
    .run = run,
};
