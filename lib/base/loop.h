/* The event loop of a process: libuv's, with the helpers that every daemon needs. All of it: the loop's thread. */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <uv.h>

typedef void loop_fn(void *context);

/* A timer that calls fn every period_ms (once, when period_ms is 0) after first_ms. NULL-safe free; may be freed in fn. */
struct loop_timer;
struct loop_timer *loop_timer_new(uv_loop_t *loop, uint64_t first_ms, uint64_t period_ms, loop_fn *fn, void *context);
void loop_timer_again(struct loop_timer *timer, uint64_t first_ms, uint64_t period_ms);
void loop_timer_free(struct loop_timer *timer);

/* Calls fn whenever the descriptor is readable. The descriptor stays the caller's; free the watch before closing it. */
struct loop_watch;
struct loop_watch *loop_watch_new(uv_loop_t *loop, int fd, loop_fn *fn, void *context);
void loop_watch_free(struct loop_watch *watch);

/* Calls fn once per turn of the loop, without sleeping, while it is on: for work that is left over. */
struct loop_idle;
struct loop_idle *loop_idle_new(uv_loop_t *loop, loop_fn *fn, void *context);
void loop_idle_on(struct loop_idle *idle, int on);
void loop_idle_free(struct loop_idle *idle);

/* Runs `work` on a worker thread, then `done` on the loop. */
void loop_work(uv_loop_t *loop, loop_fn *work, loop_fn *done, void *context);

#endif
