#include "trace/spans.h"

#include <stdlib.h>

#include "base/loop.h"
#include "base/mem.h"

struct span_queue {
    uv_mutex_t lock;
    uv_cond_t woken;
    size_t capacity;
    struct trace_span *filling, *taken; /* capacity of each */
    size_t count;                       /* of those that are filling */
    struct span_counts counts;
    bool closed;
};

struct span_queue *span_queue_new(size_t capacity) {
    struct span_queue *queue = mem_alloc(sizeof *queue);
    *queue = (struct span_queue){
        .capacity = capacity,
        .filling = mem_zero(capacity, sizeof *queue->filling),
        .taken = mem_zero(capacity, sizeof *queue->taken),
    };
    uv_mutex_init(&queue->lock);
    uv_cond_init(&queue->woken);
    return queue;
}

void span_queue_free(struct span_queue *queue) {
    if (!queue) return;
    uv_cond_destroy(&queue->woken);
    uv_mutex_destroy(&queue->lock);
    free(queue->filling);
    free(queue->taken);
    free(queue);
}

void span_queue_put(struct span_queue *queue, const struct trace_span *span) {
    uv_mutex_lock(&queue->lock);
    queue->counts.put++;
    if (queue->count == queue->capacity)
        queue->counts.dropped++;
    else
        queue->filling[queue->count++] = *span;
    // The exporter need not wake for each span: it looks after its wait.
    if (queue->count == queue->capacity / 2) uv_cond_signal(&queue->woken);
    uv_mutex_unlock(&queue->lock);
}

void span_queue_lose(struct span_queue *queue, size_t count) {
    uv_mutex_lock(&queue->lock);
    queue->counts.dropped += count;
    uv_mutex_unlock(&queue->lock);
}

struct span_counts span_queue_counts(struct span_queue *queue) {
    uv_mutex_lock(&queue->lock);
    struct span_counts counts = queue->counts;
    uv_mutex_unlock(&queue->lock);
    return counts;
}

/* With the lock held. */
static void wait(struct span_queue *queue, int wait_ms, bool half_full) {
    uint64_t until = uv_hrtime() + (uint64_t)wait_ms * 1000000;
    while (!queue->closed && !(half_full && queue->count >= queue->capacity / 2)) {
        uint64_t now = uv_hrtime();
        if (now >= until || uv_cond_timedwait(&queue->woken, &queue->lock, until - now)) return;
    }
}

size_t span_queue_take(struct span_queue *queue, int wait_ms, const struct trace_span **spans) {
    uv_mutex_lock(&queue->lock);
    wait(queue, wait_ms, true);
    struct trace_span *full = queue->filling;
    size_t count = queue->count;
    queue->filling = queue->taken;
    queue->taken = full;
    queue->count = 0;
    uv_mutex_unlock(&queue->lock);
    *spans = full;
    return count;
}

bool span_queue_pause(struct span_queue *queue, int wait_ms) {
    uv_mutex_lock(&queue->lock);
    wait(queue, wait_ms, false);
    bool closed = queue->closed;
    uv_mutex_unlock(&queue->lock);
    return closed;
}

void span_queue_close(struct span_queue *queue) {
    uv_mutex_lock(&queue->lock);
    queue->closed = true;
    uv_cond_broadcast(&queue->woken);
    uv_mutex_unlock(&queue->lock);
}
