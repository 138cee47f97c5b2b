/* The event loop of a process: libuv's, with the helpers that every daemon needs. All of it: the loop's thread. */
#pragma once

#include <uv.h>

typedef void loop_fn(void *context);

/* The free functions below all take NULL, may be called from within fn, and give the memory back in a later turn of the
 * loop: run it until it returns 0 before closing it. */

/* A timer that calls fn every period_ms (once, when period_ms is 0) after first_ms, 0 counting
 * as 1. loop_timer_again starts it anew, also after it has fired for good. */
struct loop_timer;
struct loop_timer *loop_timer_new(uv_loop_t *loop, uint64_t first_ms, uint64_t period_ms, loop_fn *fn, void *context);
void loop_timer_again(struct loop_timer *timer, uint64_t first_ms, uint64_t period_ms);
void loop_timer_stop(struct loop_timer *timer); /* until the next loop_timer_again; the loop does not wait for it */
void loop_timer_free(struct loop_timer *timer);

/* Calls fn whenever the descriptor is readable. The descriptor stays the caller's; free the watch before closing it.
 * NULL when it is of a kind that cannot be waited for (a regular file). */
struct loop_watch;
struct loop_watch *loop_watch_new(uv_loop_t *loop, int fd, loop_fn *fn, void *context);
void loop_watch_free(struct loop_watch *watch);

/* Calls fn once per turn of the loop, without sleeping, while it is on (at first it is off): for work that is left over. */
struct loop_idle;
struct loop_idle *loop_idle_new(uv_loop_t *loop, loop_fn *fn, void *context);
void loop_idle_on(struct loop_idle *idle, int on);
void loop_idle_free(struct loop_idle *idle);

/* Runs `work` on a worker thread, then `done` on the loop. The loop runs on until both are through. */
void loop_work(uv_loop_t *loop, loop_fn *work, loop_fn *done, void *context);
