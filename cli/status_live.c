#include "cli/status_live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "cli/status_page.h"
#include "cli/terminal.h"
#include "service/http_client.h"
#include "service/listen.h"

enum { ANSWER_MS = 2000, STOP_SIGNALS = 3, READINGS_ONCE = 2 };

struct live_status;

/* One daemon. A reading asks for /readyz, then for /metrics. */
struct polled_daemon {
    struct live_status *live;
    char *address;
    struct daemon_view view;
    bool asked; /* an answer is awaited */
};

struct live_status {
    const struct status_live_options *options;
    uv_loop_t loop;
    uv_signal_t signals[STOP_SIGNALS];
    struct http_client *client;
    struct loop_timer *tick;
    struct terminal *terminal; /* NULL: the page is printed once */
    struct polled_daemon *daemons;
    const struct daemon_view **views;
    size_t count, awaited;
    int readings;
    bool closing;
    struct buffer page;
    int code;
    struct error *error;
};

static void finish(struct live_status *live, int code) {
    if (live->closing) return;
    live->closing = true;
    live->code = code;
    terminal_free(live->terminal);
    loop_timer_free(live->tick);
    http_client_free(live->client);
    for (int i = 0; i < STOP_SIGNALS; i++) uv_close((uv_handle_t *)&live->signals[i], NULL);
}

/* ---- showing ---- */

static void make_page(struct live_status *live, struct status_page page) {
    const char *no_colour = getenv("NO_COLOR");
    page.now_ms = clock_wall_ms();
    page.colours = live->terminal && !(no_colour && *no_colour);
    buffer_clear(&live->page);
    status_page(&live->page, live->views, live->count, &page);
}

static void draw(void *context) {
    struct live_status *live = context;
    struct status_page page = {.hint = "q ends"};
    if (live->closing) return;
    terminal_size(&page.rows, &page.columns);
    make_page(live, page);
    terminal_draw(live->terminal, (const char *)live->page.data, live->page.size);
    if (ferror(stdout)) finish(live, error_set(live->error, -EIO, "standard output cannot be written"));
}

static void print(struct live_status *live) {
    make_page(live, (struct status_page){.rows = STATUS_PAGE_UNLIMITED, .columns = STATUS_PAGE_UNLIMITED});
    puts(buffer_cstring(&live->page));
    bool failed = fflush(stdout) || ferror(stdout);
    finish(live, failed ? error_set(live->error, -EIO, "standard output cannot be written") : 0);
}

/* ---- asking ---- */

/* The reading of one daemon is over. */
static void answered(struct polled_daemon *daemon) {
    struct live_status *live = daemon->live;
    daemon->asked = false;
    if (--live->awaited) return;
    if (live->terminal)
        draw(live);
    else if (live->readings == READINGS_ONCE)
        print(live);
}

static void fetch(struct polled_daemon *daemon, const char *path,
                  void (*done)(void *context, int code, unsigned status, const char *reply, size_t size)) {
    char *url = mem_format("http://%s%s", daemon->address, path);
    http_fetch(daemon->live->client, "GET", url, NULL, NULL, ANSWER_MS, done, daemon);
    free(url);
}

static const char *reason_of(int code) {
    switch (code) {
    case -ETIMEDOUT: return "no answer";
    case -ECONNREFUSED: return "no connection";
    default: return "the connection broke";
    }
}

static void on_metrics(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct polled_daemon *daemon = context;
    if (daemon->live->closing) return;
    if (code)
        daemon_view_away(&daemon->view, reason_of(code));
    else if (status == 200)
        daemon_view_numbers(&daemon->view, reply, (double)clock_monotonic_us() / 1e6);
    answered(daemon);
}

static void on_readiness(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct polled_daemon *daemon = context;
    if (daemon->live->closing) return;
    if (code) daemon_view_away(&daemon->view, reason_of(code));
    if (!code && daemon_view_readiness(&daemon->view, status, reply, size))
        fetch(daemon, "/metrics", on_metrics);
    else
        answered(daemon);
}

static void on_tick(void *context) {
    struct live_status *live = context;
    if (live->terminal) draw(live); // also while a daemon owes its answer
    if (live->awaited && !live->terminal) return;
    for (size_t i = 0; i < live->count && !live->closing; i++) {
        struct polled_daemon *daemon = &live->daemons[i];
        if (daemon->asked) continue;
        daemon->asked = true;
        live->awaited++;
        fetch(daemon, "/readyz", on_readiness);
    }
    live->readings++;
}

/* ---- the run ---- */

static void on_key(void *context, char key) {
    if (key == 'q' || key == 'Q') finish(context, 0);
}

static void on_signal(uv_signal_t *handle, int number) { finish(handle->data, 0); }

static int add_daemon(struct live_status *live, const char *text, size_t size) {
    struct address address;
    struct error error = {.text = ""};
    char *copy = mem_stringn(text, size);
    if (address_parse(copy, &address, &error)) {
        free(copy);
        return error_set(live->error, -EINVAL, "%s", error.text);
    }
    live->daemons = mem_resize(live->daemons, live->count + 1, sizeof *live->daemons);
    live->daemons[live->count++] = (struct polled_daemon){.live = live, .address = copy};
    return 0;
}

static int add_daemons(struct live_status *live, const char *list) {
    int code = 0;
    while (!code && *(list += strspn(list, ", "))) {
        size_t size = strcspn(list, ", ");
        code = add_daemon(live, list, size);
        list += size;
    }
    return code;
}

static int find_daemons(struct live_status *live) {
    int code = 0;
    for (size_t i = 0; !code && i < live->options->list_count; i++) code = add_daemons(live, live->options->lists[i]);
    if (!code && !live->count) code = error_set(live->error, -EINVAL, "no daemon's address is given");
    live->views = mem_alloc((live->count + 1) * sizeof *live->views);
    for (size_t i = 0; i < live->count; i++) {
        daemon_view_init(&live->daemons[i].view, live->daemons[i].address);
        live->views[i] = &live->daemons[i].view;
    }
    return code;
}

static void watch_signals(struct live_status *live) {
    static const int NUMBERS[STOP_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < STOP_SIGNALS; i++) {
        uv_signal_init(&live->loop, &live->signals[i]);
        live->signals[i].data = live;
        uv_signal_start(&live->signals[i], on_signal, NUMBERS[i]);
    }
}

static int run(struct live_status *live) {
    uint64_t every_ms = (uint64_t)live->options->every_s * 1000;
    if (uv_loop_init(&live->loop)) return error_set(live->error, -EMFILE, "no event loop can be made");
    watch_signals(live);
    live->client = http_client_new(&live->loop);
    live->tick = loop_timer_new(&live->loop, 1, every_ms, on_tick, live);
    if (terminal_is_there()) {
        live->terminal = terminal_new(
            &(struct terminal_options){.loop = &live->loop, .context = live, .redraw = draw, .on_key = on_key});
    }
    uv_run(&live->loop, UV_RUN_DEFAULT);
    uv_loop_close(&live->loop);
    return live->code;
}

int status_live(const struct status_live_options *options, struct error *error) {
    struct live_status live = {.options = options, .error = error};
    int code = find_daemons(&live);
    if (!code) code = run(&live);
    for (size_t i = 0; i < live.count; i++) free(live.daemons[i].address);
    free(live.daemons);
    free(live.views);
    buffer_free(&live.page);
    return code;
}
