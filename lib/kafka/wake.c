#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "kafka/private.h"

/* librdkafka writes to a queue's descriptor only when the queue turns from empty to not empty. So `fn` must empty the queue, or
 * ask to be called again. The timer of one second is for max.poll.interval.ms, which counts polls. */

enum { POLL_EVERY_MS = 1000 };

struct kafka_wake {
    int fd;
    struct loop_watch *watch;
    struct loop_idle *idle;
    struct loop_timer *timer;
    loop_fn *fn;
    void *context;
};

static void woken(void *context) {
    struct kafka_wake *wake = context;
    uint64_t count;
    // Cleared before the queues are looked at: what comes after that look must wake again.
    if (read(wake->fd, &count, sizeof count) < 0) return;
    wake->fn(wake->context);
}

struct kafka_wake *kafka_wake_new(uv_loop_t *loop, loop_fn *fn, loop_fn *tick, void *context) {
    struct kafka_wake *wake = mem_alloc(sizeof *wake);
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    *wake = (struct kafka_wake){
        .fd = fd,
        .watch = fd < 0 ? NULL : loop_watch_new(loop, fd, woken, wake),
        .idle = loop_idle_new(loop, fn, context),
        .timer = loop_timer_new(loop, POLL_EVERY_MS, POLL_EVERY_MS, tick, context),
        .fn = fn,
        .context = context,
    };
    if (wake->watch) return wake;
    kafka_wake_free(wake);
    return NULL;
}

void kafka_wake_queue(struct kafka_wake *wake, rd_kafka_queue_t *queue) {
    static const uint64_t ONE = 1;
    rd_kafka_queue_io_event_enable(queue, wake->fd, &ONE, sizeof ONE);
}

void kafka_wake_forget(rd_kafka_queue_t *queue) { rd_kafka_queue_io_event_enable(queue, -1, NULL, 0); }

void kafka_wake_again(struct kafka_wake *wake, bool on) { loop_idle_on(wake->idle, on); }

void kafka_wake_free(struct kafka_wake *wake) {
    if (!wake) return;
    loop_timer_free(wake->timer);
    loop_idle_free(wake->idle);
    loop_watch_free(wake->watch);
    if (wake->fd >= 0) close(wake->fd);
    free(wake);
}
