/* A thread for blocking work beside the event loop. It runs jobs one at a time, in the order in which they were given. libuv's
 * pool (loop_work) has four threads for everything, and slow work there delays all jobs behind it; work that must be quick gets a
 * worker of its own. All calls: the loop's thread. */
#pragma once

#include <stdbool.h>

#include "base/loop.h"

struct worker;

struct worker *worker_new(uv_loop_t *loop);
/* Ends the thread. Not while busy; may be called from within `done`. Like the free functions of base/loop.h it gives the memory
 * back in a later turn of the loop. NULL is fine. */
void worker_free(struct worker *worker);

/* Runs `work` on the thread, then `done` on the loop. The loop runs on until all jobs are done. */
void worker_run(struct worker *worker, loop_fn *work, loop_fn *done, void *context);

/* A job waits or runs, or its `done` has not been called yet. Within the last job's `done`: false. */
bool worker_busy(const struct worker *worker);
