/* Routes: the partitions of deliveries that this process reads. A session has one of them; it changes only when the partition
 * was really lost.
 *
 * A route that was ours is read on from where it was. A new one is read from its end, as no session has listened there yet. The
 * end is asked for on a worker thread, before any session uses the route: else the answer to a JOIN might be written before the
 * reading starts. Until the answer is there, the routes stay what they were.
 *
 * Loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "kafka/consumer.h"

struct routes;

struct routes_options {
    uv_loop_t *loop;
    struct log *log;
    struct metrics *metrics;
    int64_t used; /* routes that sessions are spread over */
    void *context;
    void (*changed)(void *context); /* the routes are other ones now, or were read anew */
    /* The consumer of deliveries. ends: each position's offset becomes its partition's end; blocks, on a worker thread. read:
     * replaces the partitions that are read. position: the next offset to read of a partition; KAFKA_OFFSET_NONE: unknown. */
    int (*ends)(void *context, struct kafka_position *positions, size_t count, struct error *error);
    int (*read)(void *context, const struct kafka_position *positions, size_t count, struct error *error);
    int64_t (*position)(void *context, int32_t partition);
};

struct routes *routes_new(const struct routes_options *options);
/* Forgets the assignment. True: the worker thread is still asking; turn the loop, and do not free yet. */
bool routes_end(struct routes *routes);
void routes_free(struct routes *routes); /* NULL is fine */

/* The consumer's word: it has an assignment, to be read; or it has none any more. */
void routes_assigned(struct routes *routes, const struct kafka_position *owned, size_t count);
void routes_revoked(struct routes *routes);

size_t routes_count(const struct routes *routes);
bool routes_has(const struct routes *routes, int32_t route);
int32_t routes_first(const struct routes *routes); /* stays the same while the process has it; -1: it has none */
int32_t routes_choose(struct routes *routes);      /* one for a session; -1: the process has none */
