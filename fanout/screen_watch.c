#include "fanout/screen_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"

enum { WORK_EVERY_MS = 1000 /* at least */ };

struct screen_watch {
    struct sessions *sessions;
    struct watch_edge *edge;
    struct loop_idle *worker; /* while there is work */
    struct loop_timer *later;
};

static int64_t now_ms(void) { return clock_monotonic_us() / 1000; }

static void work(void *context) {
    struct screen_watch *watch = context;
    int64_t wait_ms = watch_edge_continue(watch->edge, now_ms());
    loop_idle_on(watch->worker, wait_ms == 0);
    if (wait_ms > 0) loop_timer_again(watch->later, (uint64_t)(wait_ms < WORK_EVERY_MS ? wait_ms : WORK_EVERY_MS), 0);
    sessions_flush_ready(watch->sessions);
}

static void work_soon(struct screen_watch *watch) { loop_idle_on(watch->worker, 1); }

void screen_watch_route(struct screen_watch *watch, int32_t route) {
    watch_edge_route(watch->edge, route);
    work_soon(watch);
}

int screen_watch_take(struct screen_watch *watch, const struct deliver_envelope *envelope) {
    int code = watch_edge_take(watch->edge, envelope->payload, envelope->payload_size);
    work_soon(watch);
    return code == -EBADMSG ? code : 0;
}

int screen_watch_show(struct screen_watch *watch, const struct session *session, const void *what, size_t size,
                      const struct watch_version *version) {
    int code = watch_edge_show(watch->edge, (uintptr_t)session, what, size, version);
    work_soon(watch);
    return code;
}

void screen_watch_hide(struct screen_watch *watch, const struct session *session, const void *what, size_t size) {
    watch_edge_hide(watch->edge, (uintptr_t)session, what, size);
    work_soon(watch);
}

void screen_watch_leave(struct screen_watch *watch, const struct session *session) {
    watch_edge_leave(watch->edge, (uintptr_t)session);
    work_soon(watch);
}

void screen_watch_stats(const struct screen_watch *watch, struct watch_edge_stats *stats) {
    watch_edge_stats(watch->edge, stats);
}

struct screen_watch *screen_watch_new(uv_loop_t *loop, struct sessions *sessions,
                                      const struct watch_edge_options *options) {
    struct screen_watch *watch = mem_alloc(sizeof *watch);
    struct watch_edge_options own = *options;
    own.tracer = sessions_tracer(sessions);
    if (getrandom(&own.watcher, sizeof own.watcher, 0) != sizeof own.watcher) abort();
    *watch = (struct screen_watch){.sessions = sessions, .edge = watch_edge_new(&own, now_ms())};
    watch->worker = loop_idle_new(loop, work, watch);
    watch->later = loop_timer_new(loop, WORK_EVERY_MS, 0, work, watch);
    return watch;
}

void screen_watch_free(struct screen_watch *watch) {
    if (!watch) return;
    loop_idle_free(watch->worker);
    loop_timer_free(watch->later);
    watch_edge_free(watch->edge);
    free(watch);
}
