#include "base/loop.h"

#include <stdlib.h>

#include "base/mem.h"

/* libuv still needs a handle's memory until the close callback, which comes in a later turn of the loop. */
static void closed(uv_handle_t *handle) { free(handle->data); }

struct loop_timer {
    uv_timer_t handle;
    loop_fn *fn;
    void *context;
};

static void timer_fired(uv_timer_t *handle) {
    struct loop_timer *timer = handle->data;
    timer->fn(timer->context);
}

struct loop_timer *loop_timer_new(uv_loop_t *loop, uint64_t first_ms, uint64_t period_ms, loop_fn *fn, void *context) {
    struct loop_timer *timer = MEM_NEW(&(struct loop_timer){.fn = fn, .context = context});
    uv_timer_init(loop, &timer->handle);
    timer->handle.data = timer;
    loop_timer_again(timer, first_ms, period_ms);
    return timer;
}

void loop_timer_again(struct loop_timer *timer, uint64_t first_ms, uint64_t period_ms) {
    // The loop's idea of now is as old as its turn: without this, a timer made after slow work fires early.
    uv_update_time(timer->handle.loop);
    // libuv before 1.45 serves a timer of 0 ms that starts itself again for ever, in one turn.
    uv_timer_start(&timer->handle, timer_fired, first_ms ? first_ms : 1, period_ms);
}

void loop_timer_stop(struct loop_timer *timer) { uv_timer_stop(&timer->handle); }

void loop_timer_free(struct loop_timer *timer) {
    if (timer) uv_close((uv_handle_t *)&timer->handle, closed);
}

struct loop_watch {
    uv_poll_t handle;
    loop_fn *fn;
    void *context;
};

static void watch_readable(uv_poll_t *handle, int status, int events) {
    // Also with an error: whoever reads the descriptor meets it there.
    struct loop_watch *watch = handle->data;
    watch->fn(watch->context);
}

struct loop_watch *loop_watch_new(uv_loop_t *loop, int fd, loop_fn *fn, void *context) {
    struct loop_watch *watch = MEM_NEW(&(struct loop_watch){.fn = fn, .context = context});
    if (uv_poll_init(loop, &watch->handle, fd)) {
        free(watch);
        return NULL;
    }
    watch->handle.data = watch;
    uv_poll_start(&watch->handle, UV_READABLE, watch_readable);
    return watch;
}

void loop_watch_free(struct loop_watch *watch) {
    if (watch) uv_close((uv_handle_t *)&watch->handle, closed);
}

struct loop_idle {
    uv_idle_t handle;
    loop_fn *fn;
    void *context;
};

static void idle_turn(uv_idle_t *handle) {
    struct loop_idle *idle = handle->data;
    idle->fn(idle->context);
}

struct loop_idle *loop_idle_new(uv_loop_t *loop, loop_fn *fn, void *context) {
    struct loop_idle *idle = MEM_NEW(&(struct loop_idle){.fn = fn, .context = context});
    uv_idle_init(loop, &idle->handle);
    idle->handle.data = idle;
    return idle;
}

void loop_idle_on(struct loop_idle *idle, int on) {
    if (on)
        uv_idle_start(&idle->handle, idle_turn);
    else
        uv_idle_stop(&idle->handle);
}

void loop_idle_free(struct loop_idle *idle) {
    if (idle) uv_close((uv_handle_t *)&idle->handle, closed);
}

struct job {
    uv_work_t request;
    loop_fn *work, *done;
    void *context;
};

static void job_work(uv_work_t *request) {
    struct job *job = request->data;
    job->work(job->context);
}

static void job_done(uv_work_t *request, int status) {
    struct job *job = request->data;
    job->done(job->context);
    free(job);
}

void loop_work(uv_loop_t *loop, loop_fn *work, loop_fn *done, void *context) {
    struct job *job = MEM_NEW(&(struct job){.work = work, .done = done, .context = context});
    job->request.data = job;
    uv_queue_work(loop, &job->request, job_work, job_done);
}
