/* A timing wheel: very many deadlines, set and moved in constant time, fired in steps of the wheel's granularity.
 *
 *     now
 *      v
 *     [ ][*][ ][ ][*][ ]...[ ]     WHEEL_SLOTS slots, each with the timers that are due in that step: | a | b | - | c |
 *                                  -: one that was cleared or moved. No timer's neighbours are looked at, so that the
 *                                  memory of the next ones can be fetched while one is fired.
 *
 * A deadline beyond the wheel's horizon waits in its last slot and is put again from there. Time is whatever the owner says
 * (wall or stream), in ms, and never goes back. A timer is part of the struct it belongs to. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { WHEEL_SLOTS = 512 };

struct wheel_timer { /* all zero: not set */
    int64_t due;
    uint32_t slot, place; /* where it is: timers[place - 1]; 0: not set */
};

struct wheel_slot {
    struct wheel_timer **timers;
    uint32_t count, room, holes;
};

struct wheel {
    struct wheel_slot slots[WHEEL_SLOTS];
    const struct wheel_slot *firing; /* its timers keep their places; NULL: none */
    int64_t granularity;             /* ms a slot */
    int64_t step;                    /* the last step that was fired */
};

void wheel_init(struct wheel *wheel, int64_t granularity_ms, int64_t now);
void wheel_free(struct wheel *wheel); /* a wheel that was never made, too; its timers are not looked at any more */

/* Sets or moves the timer: it fires in the first wheel_advance whose now is at or after `due`. */
void wheel_set(struct wheel *wheel, struct wheel_timer *timer, int64_t due);
void wheel_clear(struct wheel *wheel, struct wheel_timer *timer); /* not set is fine */
static inline bool wheel_is_set(const struct wheel_timer *timer) { return timer->place; }

/* Calls fire for every timer that is due at `now`; it is clear by then, and fire may set, clear or free any timer. */
void wheel_advance(struct wheel *wheel, int64_t now, void (*fire)(void *context, struct wheel_timer *timer),
                   void *context);
