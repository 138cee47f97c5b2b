#include "decider/waiters.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

struct outcome_waiter {
    struct outcome_waiter *next;
    size_t place;
    int64_t offset, deadline_us;
    void *context;
    waiters_fn *done;
    int code; /* once it is due */
};

struct waiters {
    struct outcome_waiter *waiting, *due; /* due: about to be called */
    size_t count, max;                    /* of both */
    struct loop_timer *timer;
    int64_t timer_us; /* when it fires; INT64_MAX: it does not */
};

/* Any of the functions called may add and cancel: each one is out of the lists when it is called. */
static void call_due(struct waiters *waiters) {
    while (waiters->due) {
        struct outcome_waiter *waiter = waiters->due;
        waiters->due = waiter->next;
        waiters->count--;
        waiter->done(waiter->context, waiter->code);
        free(waiter);
    }
}

/* Moves a waiter from the waiting to the due; link: what points to it. */
static void make_due(struct waiters *waiters, struct outcome_waiter **link, int code) {
    struct outcome_waiter *waiter = *link;
    *link = waiter->next;
    waiter->code = code;
    waiter->next = waiters->due;
    waiters->due = waiter;
}

static void set_timer(struct waiters *waiters, int64_t at_us) {
    waiters->timer_us = at_us;
    if (at_us == INT64_MAX) {
        loop_timer_stop(waiters->timer);
        return;
    }
    int64_t left_us = at_us - clock_monotonic_us();
    loop_timer_again(waiters->timer, left_us > 0 ? (uint64_t)(left_us + 999) / 1000 : 0, 0);
}

/* handled NULL: only the time counts. */
static void look(struct waiters *waiters, const int64_t *handled) {
    int64_t now_us = clock_monotonic_us(), next_us = INT64_MAX;
    for (struct outcome_waiter **link = &waiters->waiting; *link;) {
        struct outcome_waiter *waiter = *link;
        if (handled && handled[waiter->place] > waiter->offset) {
            make_due(waiters, link, 0);
        } else if (now_us >= waiter->deadline_us) {
            make_due(waiters, link, -ETIMEDOUT);
        } else {
            if (waiter->deadline_us < next_us) next_us = waiter->deadline_us;
            link = &waiter->next;
        }
    }
    set_timer(waiters, next_us);
    call_due(waiters);
}

static void time_over(void *context) { look(context, NULL); }

void waiters_handled(struct waiters *waiters, const int64_t *handled) {
    if (waiters->waiting) look(waiters, handled);
}

struct waiters *waiters_new(uv_loop_t *loop, size_t max) {
    struct waiters *waiters = mem_alloc(sizeof *waiters);
    *waiters =
        (struct waiters){.max = max, .timer = loop_timer_new(loop, 0, 0, time_over, waiters), .timer_us = INT64_MAX};
    loop_timer_stop(waiters->timer);
    return waiters;
}

void waiters_fail(struct waiters *waiters, size_t place, int64_t offset, int code) {
    for (struct outcome_waiter **link = &waiters->waiting; *link;) {
        if ((*link)->place == place && (offset < 0 || (*link)->offset == offset))
            make_due(waiters, link, code);
        else
            link = &(*link)->next;
    }
    call_due(waiters);
}

size_t waiters_count(const struct waiters *waiters) { return waiters->count; }

void waiters_free(struct waiters *waiters) {
    if (!waiters) return;
    waiters->max = 0; // nobody new
    while (waiters->waiting) make_due(waiters, &waiters->waiting, -ECANCELED);
    call_due(waiters);
    loop_timer_free(waiters->timer);
    free(waiters);
}

int waiters_add(struct waiters *waiters, size_t place, int64_t offset, int64_t deadline_us, void *context,
                waiters_fn *done) {
    if (waiters->count >= waiters->max) return -EAGAIN;
    struct outcome_waiter *waiter = MEM_NEW(&(struct outcome_waiter){.next = waiters->waiting,
                                                                     .place = place,
                                                                     .offset = offset,
                                                                     .deadline_us = deadline_us,
                                                                     .context = context,
                                                                     .done = done});
    waiters->waiting = waiter;
    waiters->count++;
    if (deadline_us < waiters->timer_us) set_timer(waiters, deadline_us);
    return 0;
}
