#include "fanout/wheel.h"

#include <stddef.h>

void wheel_init(struct wheel *wheel, int64_t granularity_ms, int64_t now) {
    *wheel = (struct wheel){.granularity = granularity_ms, .step = now / granularity_ms};
}

static void link_into(struct wheel_timer **list, struct wheel_timer *timer) {
    timer->next = *list;
    timer->link = list;
    if (timer->next) timer->next->link = &timer->next;
    *list = timer;
}

void wheel_clear(struct wheel_timer *timer) {
    if (!timer->link) return;
    *timer->link = timer->next;
    if (timer->next) timer->next->link = timer->link;
    timer->next = NULL;
    timer->link = NULL;
}

void wheel_set(struct wheel *wheel, struct wheel_timer *timer, int64_t due) {
    wheel_clear(timer);
    timer->due = due;
    int64_t step = due / wheel->granularity + (due % wheel->granularity > 0);
    if (step <= wheel->step) step = wheel->step + 1;
    if (step >= wheel->step + WHEEL_SLOTS) step = wheel->step + WHEEL_SLOTS - 1;
    link_into(&wheel->slots[step % WHEEL_SLOTS], timer);
}

/* Fires what is due in a slot; the rest is put again, which leaves in the slot what belongs there. */
static void fire_slot(struct wheel *wheel, struct wheel_timer **slot, int64_t now,
                      void (*fire)(void *context, struct wheel_timer *timer), void *context) {
    struct wheel_timer *waiting = NULL;
    while (*slot) {
        struct wheel_timer *timer = *slot;
        wheel_clear(timer);
        link_into(&waiting, timer);
    }
    while (waiting) {
        struct wheel_timer *timer = waiting;
        wheel_clear(timer);
        if (timer->due <= now)
            fire(context, timer);
        else
            wheel_set(wheel, timer, timer->due);
    }
}

void wheel_advance(struct wheel *wheel, int64_t now, void (*fire)(void *context, struct wheel_timer *timer),
                   void *context) {
    int64_t last = now / wheel->granularity;
    /* A jump of more than a turn visits every slot once. */
    int64_t first = last - wheel->step > WHEEL_SLOTS ? last - WHEEL_SLOTS + 1 : wheel->step + 1;
    for (int64_t step = first; step <= last; step++) {
        wheel->step = step;
        fire_slot(wheel, &wheel->slots[step % WHEEL_SLOTS], now, fire, context);
    }
    /* The step that has begun holds what is due up to its end: a clock that stands still must not leave any of it
     * late. */
    fire_slot(wheel, &wheel->slots[(last + 1) % WHEEL_SLOTS], now, fire, context);
}
