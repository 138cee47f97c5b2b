/* Admission decides which sessions may come in now, and when the others should come back. So the sessions of a lost edge return to the
 * other edges as a ramp, at the rate that these can take, and not as a wall.
 *
 *     tokens fill at `rate` a second up to one second's worth; each admitted session takes one
 *     a session that finds none gets the next free place in the time ahead; places are 1/rate apart:
 *
 *         now            slot
 *          |  given away  | | | | free
 *
 * Pure: no clock. Times in ms that never go back. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ADMISSION_DELAY_MAX_MS = 120000 };

struct admission {
    double rate; /* sessions a second; 0: any */
    double tokens;
    double slot_ms; /* the next free place; in the past: now */
    int64_t filled_ms;
};

void admission_init(struct admission *admission, double rate, int64_t now_ms);
bool admission_take(struct admission *admission, int64_t now_ms);

/* When a session that is sent away now should come back: the next free place at least `least_ms` from now, and no more than
 * ADMISSION_DELAY_MAX_MS (the places begin again there). `chance` is any random number; with a rate of 0 it spreads the delay over
 * another second. */
int64_t admission_delay(struct admission *admission, int64_t now_ms, int64_t least_ms, uint32_t chance);
