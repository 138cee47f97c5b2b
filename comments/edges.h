/* Sends changes of watched comments to the edges that show them, gathered by route (lib/deliver), and tombstones of watches whose edge is
 * gone. A delivery may get lost: roll calls find that out (watch/watch.h). Loop's thread. */
#pragma once

#include "base/loop.h"
#include "base/metrics.h"
#include "deliver/epochs.h"
#include "kafka/producer.h"
#include "owner/settings.h"

struct edges;

struct edges_options {
    uv_loop_t *loop;
    const struct kafka_settings *kafka;
    struct metrics *metrics;
    const struct owner_settings *owning; /* the outbox's */
    int32_t routes;
    struct epochs *epochs; /* the owner's, and longer-lived */
    void *context;
    void (*failed)(void *context, const char *doing, const struct error *error); /* the producer takes nothing more */
};

int edges_new(const struct edges_options *options, struct edges **edges, struct error *error);
void edges_free(struct edges *edges); /* NULL is fine */

/* Sends a payload of lib/watch to the edge of a route: by edges_flush, or when it is old. */
void edges_deliver(void *edges, int32_t route, const void *payload, size_t size);
/* Writes a tombstone to `comment-watches`, if there is room now. */
void edges_forget_watch(void *edges, int32_t partition, const void *key, size_t size);

void edges_flush_old(struct edges *edges, int64_t now_us);
int64_t edges_flush_ready(struct edges *edges, int64_t now_us); /* as deliver_flush_ready */
void edges_flush(struct edges *edges);
bool edges_blocked(struct edges *edges); /* offers what waits once more; true: the producer still has no room */
