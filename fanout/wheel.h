/* A timing wheel: very many deadlines, set and moved in constant time, fired in steps of the wheel's granularity.
 *
 *     now
 *      v
 *     [ ][*][ ][ ][*][ ]...[ ]     WHEEL_SLOTS slots, each a list of timers due in that step
 *
 * A deadline beyond the wheel's horizon waits in its last slot and is put again from there. Time is whatever the owner says
 * (wall or stream), in ms, and never goes back. A timer is part of the struct it belongs to. One thread.
 */
#ifndef FANOUT_WHEEL_H
#define FANOUT_WHEEL_H

#include <stdint.h>

enum { WHEEL_SLOTS = 512 };

struct wheel_timer {
    struct wheel_timer *next, **link; /* link: whatever points here; NULL: not set */
    int64_t due;
};

struct wheel {
    struct wheel_timer *slots[WHEEL_SLOTS];
    int64_t granularity; /* ms a slot */
    int64_t step;        /* the last step that was fired */
};

void wheel_init(struct wheel *wheel, int64_t granularity_ms, int64_t now);

/* Sets or moves the timer: it fires in the first wheel_advance whose now is at or after `due`. */
void wheel_set(struct wheel *wheel, struct wheel_timer *timer, int64_t due);
void wheel_clear(struct wheel_timer *timer); /* not set is fine */

/* Calls fire for every timer that is due at `now`; it is clear by then, and fire may set, clear or free any timer. */
void wheel_advance(struct wheel *wheel, int64_t now, void (*fire)(void *context, struct wheel_timer *timer),
                   void *context);

#endif
