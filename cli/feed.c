/* `starling feed`: a user's home timeline. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/home_reading.h"
#include "cli/phone_frame.h"
#include "cli/post_options.h"
#include "service/token.h"
#include "ws/ws.h"

/* `starling feed USER --follow` prints the newest page of a home timeline, then new posts as they come over the WebSocket. */

enum {
    MESSAGE_MAX = 4 << 20,
    CONNECT_US = 10000000, /* the first time; later it goes on trying */
    RETRY_FIRST_MS = 500,
    RETRY_MAX_MS = 10000,
    READ_AGAIN_MS = 200,
    READINGS_MAX = 6, /* of one stale page: its version may be of posts that are deleted meanwhile */
    VERSION_ID = 16,  /* digits of the newest id, with which a version begins */
    TOKEN_TTL_MS = 24 * 3600 * 1000,
    STOP_SIGNALS = 2
};

static const char SUBPROTOCOL[] = "starling.v1";

struct home_follower {
    const struct post_options *options;
    struct asking *asking;
    uv_loop_t loop;
    uv_signal_t signals[STOP_SIGNALS];
    struct loop_timer *retry, *read;
    struct loop_timer *ending; /* NULL before the end */
    struct token_issuer *issuer;
    struct ws_clients *clients;
    struct ws_connection *connection; /* NULL: none, or not open yet */
    struct buffer frame, line;
    struct map *printed;                                        /* ids */
    char version[HOME_VERSION_SIZE], wanted[HOME_VERSION_SIZE]; /* of the page; that it is to have: "" as it has it */
    int readings;
    int64_t retry_ms, started_us;
    bool welcomed, ever_welcomed, closing;
    int code;
    struct error *error;
};

static void on_closed(void *context) {
    struct home_follower *f = context;
    for (int i = 0; i < STOP_SIGNALS; i++) uv_close((uv_handle_t *)&f->signals[i], NULL);
    loop_timer_free(f->retry);
    loop_timer_free(f->read);
    loop_timer_free(f->ending);
}

static void shut_down(void *context) {
    struct home_follower *f = context;
    ws_clients_shutdown(f->clients, on_closed, f);
}

/* Ends everything, outside of the callback in which that was decided. */
static void finish(struct home_follower *f, int code) {
    if (f->closing) return;
    f->closing = true;
    f->code = code;
    f->ending = loop_timer_new(&f->loop, 1, 0, shut_down, f);
}

/* ---- printing ---- */

/* post NULL, or without a text: it cannot be read now. */
static void print_post(struct home_follower *f, int64_t id, int64_t user, const json_t *post) {
    const struct post_style style = {.json = f->options->json, .author = true};
    bool created;
    uint64_t *slot = map_put(f->printed, (uint64_t)id, &created);
    *slot = 1;
    if (!created) return;
    buffer_clear(&f->line);
    if (!post || post_line(&f->line, post, &style, NULL)) post_line_unavailable(&f->line, id, user, &style);
    fwrite(f->line.data, 1, f->line.size, stdout);
}

static void flush(struct home_follower *f) {
    if (fflush(stdout) || ferror(stdout)) finish(f, error_set(f->error, -EIO, "standard output cannot be written"));
}

static void print_page(struct home_follower *f, const struct home_page *page) {
    size_t end = 0, shown = 0;
    for (; end < page->count && shown < f->options->limit; end++) shown += !page->items[end].gone;
    while (end-- > 0) {
        const struct home_item *item = &page->items[end];
        if (!item->gone) print_post(f, item->id, item->user, item->post);
    }
    flush(f);
}

/* ---- pages ---- */

static int read_page(struct home_follower *f, struct error *error) {
    struct home_page page = {.items = NULL};
    int code = home_read(f->asking, f->options->user, f->options->limit, &page, error);
    if (!code) {
        print_page(f, &page);
        if (page.complete) strcpy(f->version, page.version);
    }
    if (!code && !page.complete) code = error_set(error, -EAGAIN, "the timeline is not complete");
    home_page_free(&page);
    return code;
}

static void send_watch(struct home_follower *f) {
    phone_frame_watch_feed(&f->frame, f->version);
    ws_send(f->connection, &f->frame);
}

/* The page is as new as the version that was named. */
static bool new_enough(const struct home_follower *f) {
    return !strcmp(f->version, f->wanted) || strncmp(f->version, f->wanted, VERSION_ID) > 0;
}

static void read_again(void *context) {
    struct home_follower *f = context;
    struct error error = {.text = ""};
    if (f->closing) return;
    int code = read_page(f, &error);
    if (code && f->readings == 0) fprintf(stderr, "starling feed: %s\n", error.text);
    if (!code && f->welcomed) send_watch(f);
    f->readings++;
    if (!code && (new_enough(f) || f->readings >= READINGS_MAX)) {
        f->wanted[0] = '\0';
        return;
    }
    int doublings = f->readings < READINGS_MAX ? f->readings : READINGS_MAX;
    loop_timer_again(f->read, READ_AGAIN_MS << (doublings - 1), 0);
}

static void want_page(struct home_follower *f, const char *version, int64_t after_ms) {
    if (!strcmp(version, f->version)) return;
    strcpy(f->wanted, version);
    f->readings = 0;
    loop_timer_again(f->read, (uint64_t)after_ms, 0);
}

/* ---- from the edge ---- */

static int want_version(const json_t *frame, const char *key, const char **version) {
    return json_want_text(frame, key, version, NULL) || strlen(*version) >= HOME_VERSION_SIZE ? -EBADMSG : 0;
}

static int take_posts(struct home_follower *f, const json_t *frame) {
    const char *since, *version;
    const json_t *items = json_object_get(frame, "items");
    if (want_version(frame, "since", &since) || want_version(frame, "version", &version) || !json_is_array(items))
        return -EBADMSG;
    for (size_t i = json_array_size(items); i-- > 0;) {
        const json_t *post = json_array_get(items, i);
        int64_t id, user;
        if (post_want_id(post, "id", &id, NULL) || json_want_int(post, "user", 0, INT64_MAX, &user, NULL))
            return -EBADMSG;
        print_post(f, id, user, post);
    }
    flush(f);
    // Posts that do not follow our page's version may have a gap before them.
    if (!strcmp(since, f->version))
        strcpy(f->version, version);
    else
        want_page(f, version, 0);
    return 0;
}

static int take_stale(struct home_follower *f, const json_t *frame) {
    const char *version;
    int64_t after_ms;
    if (want_version(frame, "version", &version) || json_want_int(frame, "after_ms", 0, 3600000, &after_ms, NULL))
        return -EBADMSG;
    want_page(f, version, after_ms);
    return 0;
}

static int take_frame(struct home_follower *f, const json_t *frame) {
    const char *type, *message = "";
    int64_t after_ms;
    if (json_want_text(frame, "type", &type, NULL)) return -EBADMSG;
    if (!strcmp(type, "posts")) return take_posts(f, frame);
    if (!strcmp(type, "stale")) return take_stale(f, frame);
    if (!strcmp(type, "welcome")) {
        int64_t user;
        if (json_want_int(frame, "user", 0, INT64_MAX, &user, NULL)) return -EBADMSG;
        if (user != f->options->user) {
            finish(f, error_set(f->error, -EINVAL, "the token is not user %" PRId64 "'s", f->options->user));
            return 0;
        }
        f->welcomed = f->ever_welcomed = true;
        f->retry_ms = RETRY_FIRST_MS;
        send_watch(f);
    } else if (!strcmp(type, "error")) {
        json_want_text(frame, "message", &message, NULL);
        finish(f, error_set(f->error, -EPROTO, "%s: %s", f->options->ws, message));
    } else if (!strcmp(type, "reconnect") && !json_want_int(frame, "after_ms", 0, 3600000, &after_ms, NULL)) {
        f->retry_ms = after_ms + 1;
    }
    return 0; // a newer server may say more than we know
}

static void on_open(void *context, struct ws_connection *connection) {
    struct home_follower *f = context;
    if (f->closing) return;
    f->connection = connection;
    const char *given = f->options->token;
    char *made = given ? NULL : token_issue(f->issuer, f->options->user, clock_wall_ms() + TOKEN_TTL_MS);
    phone_frame_hello_alone(&f->frame, given ? given : made);
    ws_send(connection, &f->frame);
    free(made);
}

static void on_message(void *context, struct ws_connection *connection, const char *text, size_t size) {
    struct home_follower *f = context;
    if (f->closing) return;
    json_t *frame = json_parse(text, size, NULL);
    if (!frame || take_frame(f, frame))
        finish(f, error_set(f->error, -EBADMSG, "%s: a frame that cannot be understood", f->options->ws));
    json_decref(frame);
}

static void on_writable(void *context, struct ws_connection *connection) {}

/* The reason to give up, or NULL: try again. */
static const char *hopeless(const struct home_follower *f, int code) {
    if (code == WS_POLICY) return "the server refuses the token";
    if (code == WS_EXPIRED && f->options->token) return "the token has expired";
    return f->ever_welcomed || clock_monotonic_us() - f->started_us < CONNECT_US ? NULL : "no connection";
}

static void on_close(void *context, struct ws_connection *connection, int code) {
    struct home_follower *f = context;
    f->connection = NULL;
    f->welcomed = false;
    if (f->closing) return;
    const char *reason = hopeless(f, code);
    if (reason) {
        finish(f, error_set(f->error, -ECONNREFUSED, "%s: %s (close code %d)", f->options->ws, reason, code));
        return;
    }
    loop_timer_again(f->retry, (uint64_t)f->retry_ms, 0);
    f->retry_ms = f->retry_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : f->retry_ms * 2;
}

static void connect_again(void *context) {
    struct home_follower *f = context;
    struct error error = {.text = ""};
    if (f->closing) return;
    int code = ws_connect(f->clients, f->options->ws, NULL, &error);
    if (code) finish(f, error_set(f->error, code, "%s", error.text));
}

static void on_signal(uv_signal_t *handle, int number) { finish(handle->data, 0); }

/* ---- the whole ---- */

static void start(struct home_follower *f) {
    static const int NUMBERS[STOP_SIGNALS] = {SIGINT, SIGTERM};
    for (int i = 0; i < STOP_SIGNALS; i++) {
        uv_signal_init(&f->loop, &f->signals[i]);
        f->signals[i].data = f;
        uv_signal_start(&f->signals[i], on_signal, NUMBERS[i]);
    }
    f->started_us = clock_monotonic_us();
    f->retry = loop_timer_new(&f->loop, 1, 0, connect_again, f);
    f->read = loop_timer_new(&f->loop, 1, 0, read_again, f);
    loop_timer_stop(f->read);
}

static int follow(struct home_follower *f, struct error *error) {
    const struct post_options *o = f->options;
    const char *key = o->cli->settings.hs256_key_file;
    if (!o->token && !*key)
        return error_set(error, -EINVAL, "neither --token nor auth.hs256.key.file, to sign one, is given");
    int code = o->token ? 0 : token_issuer_new(key, &f->issuer, error);
    if (!code) code = read_page(f, error);
    if (code == -EAGAIN) code = 0; // posts may be missing; the edge will say that the page is stale
    if (code) return code;
    if (uv_loop_init(&f->loop)) return error_set(error, -EMFILE, "no event loop can be made: too few descriptors");
    code = ws_clients_new(
        &(struct ws_clients_options){
            .loop = &f->loop,
            .subprotocol = SUBPROTOCOL,
            .max_message = MESSAGE_MAX,
            .tls_ca = strncmp(o->ws, "wss://", 6) ? NULL : o->authorities,
            .context = f,
            .callbacks = {on_open, on_message, on_writable, on_close},
        },
        &f->clients, error);
    if (!code) {
        start(f);
        uv_run(&f->loop, UV_RUN_DEFAULT);
        code = f->code;
    }
    ws_clients_free(f->clients);
    uv_loop_close(&f->loop);
    return code;
}

/* Prints each post once, the oldest first, and connects again after a lost connection. Returns 0 after SIGINT or SIGTERM. */
static int home_follow(const struct post_options *options, struct asking *asking, struct error *error) {
    struct home_follower f = {
        .options = options, .asking = asking, .printed = map_new(), .retry_ms = RETRY_FIRST_MS, .error = error};
    int code = follow(&f, error);
    token_issuer_free(f.issuer);
    buffer_free(&f.frame);
    buffer_free(&f.line);
    map_free(f.printed);
    return code;
}

static int show_page(const struct post_options *options, const struct home_page *page, struct error *error) {
    const struct post_style style = {.json = options->json, .author = true};
    struct buffer lines = {.data = NULL};
    size_t unavailable, printed = home_page_print(page, options->limit, &style, &lines, &unavailable);
    if (lines.size) fwrite(lines.data, 1, lines.size, stdout);
    buffer_free(&lines);
    if (!page->complete && !printed)
        return error_set(error, -EAGAIN, "the timeline is not complete, and has nothing to show yet: try again soon");
    if (!page->complete) fprintf(stderr, "starling feed: the timeline is not complete: posts may be missing\n");
    if (unavailable) fprintf(stderr, "starling feed: the texts of %zu posts cannot be read now\n", unavailable);
    return 0;
}

static int print(const struct post_options *options, struct asking *asking, struct error *error) {
    struct home_page page = {.items = NULL};
    int code = home_read(asking, options->user, options->limit, &page, error);
    if (!code) code = show_page(options, &page, error);
    home_page_free(&page);
    return code;
}

static int run(int argc, char **argv) { return post_options_run(&FEED_COMMAND, print, home_follow, argc, argv); }

const struct cli_command FEED_COMMAND = {
    .name = "feed",
    .synopsis = "USER [--limit N] [--json] [--follow [--ws URL] [--token TOKEN] [--ca FILE]]",
    .summary = "a user's home timeline: the newest posts of whom the user follows",
    .run = run,
};
