#include "base/handoff.h"

#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "base/mem.h"

struct handoff {
    uv_mutex_t lock;
    uv_cond_t woken;
    size_t capacity, item_size;
    uint8_t *filling, *taken; /* capacity items each */
    size_t count;             /* of those that are filling */
    struct handoff_counts counts;
    bool closed;
};

struct handoff *handoff_new(size_t capacity, size_t item_size) {
    struct handoff *handoff = MEM_NEW(&(struct handoff){
        .capacity = capacity,
        .item_size = item_size,
        .filling = mem_zero(capacity, item_size),
        .taken = mem_zero(capacity, item_size),
    });
    uv_mutex_init(&handoff->lock);
    uv_cond_init(&handoff->woken);
    return handoff;
}

void handoff_free(struct handoff *handoff) {
    if (!handoff) return;
    uv_cond_destroy(&handoff->woken);
    uv_mutex_destroy(&handoff->lock);
    free(handoff->filling);
    free(handoff->taken);
    free(handoff);
}

void handoff_put(struct handoff *handoff, const void *item) {
    uv_mutex_lock(&handoff->lock);
    handoff->counts.put++;
    if (handoff->count == handoff->capacity)
        handoff->counts.dropped++;
    else
        memcpy(handoff->filling + handoff->item_size * handoff->count++, item, handoff->item_size);
    // The worker need not wake for each item: it looks after its wait.
    if (handoff->count == handoff->capacity / 2) uv_cond_signal(&handoff->woken);
    uv_mutex_unlock(&handoff->lock);
}

void handoff_lose(struct handoff *handoff, size_t count) {
    uv_mutex_lock(&handoff->lock);
    handoff->counts.dropped += count;
    uv_mutex_unlock(&handoff->lock);
}

struct handoff_counts handoff_read_counts(struct handoff *handoff) {
    uv_mutex_lock(&handoff->lock);
    struct handoff_counts counts = handoff->counts;
    uv_mutex_unlock(&handoff->lock);
    return counts;
}

/* With the lock held. */
static void wait(struct handoff *handoff, int wait_ms, bool half_full) {
    uint64_t until = uv_hrtime() + (uint64_t)wait_ms * 1000000;
    while (!handoff->closed && !(half_full && handoff->count >= handoff->capacity / 2)) {
        uint64_t now = uv_hrtime();
        if (now >= until || uv_cond_timedwait(&handoff->woken, &handoff->lock, until - now)) return;
    }
}

const void *handoff_take(struct handoff *handoff, int wait_ms, size_t *count) {
    uv_mutex_lock(&handoff->lock);
    wait(handoff, wait_ms, true);
    uint8_t *full = handoff->filling;
    *count = handoff->count;
    handoff->filling = handoff->taken;
    handoff->taken = full;
    handoff->count = 0;
    uv_mutex_unlock(&handoff->lock);
    return full;
}

bool handoff_pause(struct handoff *handoff, int wait_ms) {
    uv_mutex_lock(&handoff->lock);
    wait(handoff, wait_ms, false);
    bool closed = handoff->closed;
    uv_mutex_unlock(&handoff->lock);
    return closed;
}

void handoff_close(struct handoff *handoff) {
    uv_mutex_lock(&handoff->lock);
    handoff->closed = true;
    uv_cond_broadcast(&handoff->woken);
    uv_mutex_unlock(&handoff->lock);
}
