/* Waiters wait until a partition's commands are decided up to an offset. Private to lib/decider. Loop's thread. */
#pragma once

#include "base/loop.h"

struct waiters;

typedef void waiters_fn(void *context, int code);

struct waiters *waiters_new(uv_loop_t *loop, size_t max);
void waiters_free(struct waiters *waiters); /* all get -ECANCELED; NULL is fine */

size_t waiters_count(const struct waiters *waiters);

/* -EAGAIN: too many. place: the partition, as the caller numbers them. */
int waiters_add(struct waiters *waiters, size_t place, int64_t offset, int64_t deadline_us, void *context,
                waiters_fn *done);

/* Calls waiters whose offset is below handled[place] with 0, and waiters whose deadline has passed with -ETIMEDOUT. */
void waiters_handled(struct waiters *waiters, const int64_t *handled);
/* Calls the waiters for that command, or all waiters of the place (offset -1). */
void waiters_fail(struct waiters *waiters, size_t place, int64_t offset, int code);
