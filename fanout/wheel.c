#include "fanout/wheel.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/mem.h"

enum { FETCHED_AHEAD = 8 };

void wheel_init(struct wheel *wheel, int64_t granularity_ms, int64_t now) {
    *wheel = (struct wheel){.granularity = granularity_ms, .step = now / granularity_ms};
}

void wheel_free(struct wheel *wheel) {
    for (size_t i = 0; i < WHEEL_SLOTS; i++) {
        free(wheel->slots[i].timers);
        wheel->slots[i] = (struct wheel_slot){0};
    }
}

/* Closes up what was cleared. */
static void close_holes(struct wheel_slot *slot) {
    uint32_t kept = 0;
    for (uint32_t i = 0; slot->holes && i < slot->count; i++) {
        struct wheel_timer *timer = slot->timers[i];
        if (!timer) continue;
        slot->timers[kept++] = timer;
        timer->place = kept;
    }
    if (slot->holes) slot->count = kept;
    slot->holes = 0;
}

static void append(struct wheel *wheel, uint32_t to, struct wheel_timer *timer) {
    struct wheel_slot *slot = &wheel->slots[to];
    if (slot->count == slot->room && slot->holes > slot->count / 2 && slot != wheel->firing) close_holes(slot);
    MEM_ROOM(slot->timers, slot->count, slot->room);
    slot->timers[slot->count++] = timer;
    timer->slot = to;
    timer->place = slot->count;
}

void wheel_clear(struct wheel *wheel, struct wheel_timer *timer) {
    if (!timer->place) return;
    struct wheel_slot *slot = &wheel->slots[timer->slot];
    slot->timers[timer->place - 1] = NULL;
    slot->holes++;
    timer->place = 0;
}

static uint32_t slot_of(const struct wheel *wheel, int64_t due) {
    int64_t step = due / wheel->granularity + (due % wheel->granularity > 0);
    if (step <= wheel->step) step = wheel->step + 1;
    if (step >= wheel->step + WHEEL_SLOTS) step = wheel->step + WHEEL_SLOTS - 1;
    return (uint32_t)(step % WHEEL_SLOTS);
}

void wheel_set(struct wheel *wheel, struct wheel_timer *timer, int64_t due) {
    uint32_t to = slot_of(wheel, due);
    timer->due = due;
    if (timer->place && timer->slot == to) return;
    wheel_clear(wheel, timer);
    append(wheel, to, timer);
}

/* Fires what is due in a slot; what belongs elsewhere is put again. A timer that is put there meanwhile waits for the next time. */
static void fire_slot(struct wheel *wheel, struct wheel_slot *slot, int64_t now,
                      void (*fire)(void *context, struct wheel_timer *timer), void *context) {
    uint32_t count = slot->count;
    wheel->firing = slot;
    for (uint32_t i = 0; i < count; i++) {
        if (count - i > FETCHED_AHEAD) __builtin_prefetch(slot->timers[i + FETCHED_AHEAD], 1);
        struct wheel_timer *timer = slot->timers[i];
        if (!timer) continue;
        if (timer->due > now) {
            wheel_set(wheel, timer, timer->due);
        } else {
            wheel_clear(wheel, timer);
            fire(context, timer);
        }
    }
    wheel->firing = NULL;
    close_holes(slot);
    if (slot->count) return;
    free(slot->timers);
    *slot = (struct wheel_slot){0};
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
