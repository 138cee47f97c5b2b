#include "cli/status_live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/daemon_poll.h"
#include "cli/status_page.h"
#include "cli/terminal.h"

enum { STOP_SIGNALS = 3, READINGS_ONCE = 2 };

struct live_status {
    const struct status_live_options *options;
    uv_loop_t loop;
    uv_signal_t signals[STOP_SIGNALS];
    struct loop_timer *tick;
    struct terminal *terminal; /* NULL: the page is printed once */
    struct daemon_poll *poll;
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
    daemon_poll_close(live->poll);
    for (int i = 0; i < STOP_SIGNALS; i++) uv_close((uv_handle_t *)&live->signals[i], NULL);
}

/* ---- showing ---- */

static void make_page(struct live_status *live, struct status_page page) {
    const char *no_colour = getenv("NO_COLOR");
    size_t count;
    const struct daemon_view *const *views = daemon_poll_views(live->poll, &count);
    page.now_ms = clock_wall_ms();
    page.colours = live->terminal && !(no_colour && *no_colour);
    buffer_clear(&live->page);
    status_page(&live->page, views, count, &page);
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

static void answered(void *context) {
    struct live_status *live = context;
    if (live->terminal)
        draw(live);
    else if (live->readings == READINGS_ONCE)
        print(live);
}

static void on_tick(void *context) {
    struct live_status *live = context;
    if (live->terminal) draw(live); // also while a daemon owes its answer
    if (live->closing || (daemon_poll_awaited(live->poll) && !live->terminal)) return;
    daemon_poll_ask(live->poll);
    live->readings++;
}

/* ---- the run ---- */

static void on_key(void *context, char key) {
    if (key == 'q' || key == 'Q') finish(context, 0);
}

static void on_signal(uv_signal_t *handle, int number) { finish(handle->data, 0); }

static void watch_signals(struct live_status *live) {
    static const int NUMBERS[STOP_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < STOP_SIGNALS; i++) {
        uv_signal_init(&live->loop, &live->signals[i]);
        live->signals[i].data = live;
        uv_signal_start(&live->signals[i], on_signal, NUMBERS[i]);
    }
}

static int run(struct live_status *live) {
    const struct status_live_options *options = live->options;
    uint64_t every_ms = (uint64_t)options->every_s * 1000;
    if (uv_loop_init(&live->loop)) return error_set(live->error, -EMFILE, "no event loop can be made");
    int code = daemon_poll_new(
        &(struct daemon_poll_options){
            .loop = &live->loop,
            .lists = options->lists,
            .list_count = options->list_count,
            .context = live,
            .answered = answered,
        },
        &live->poll, live->error);
    if (!code) {
        watch_signals(live);
        live->tick = loop_timer_new(&live->loop, 1, every_ms, on_tick, live);
        if (terminal_is_there()) {
            live->terminal = terminal_new(
                &(struct terminal_options){.loop = &live->loop, .context = live, .redraw = draw, .on_key = on_key});
        }
        uv_run(&live->loop, UV_RUN_DEFAULT);
        code = live->code;
    }
    uv_loop_close(&live->loop);
    daemon_poll_free(live->poll);
    return code;
}

int status_live(const struct status_live_options *options, struct error *error) {
    struct live_status live = {.options = options, .error = error};
    int code = run(&live);
    buffer_free(&live.page);
    return code;
}
