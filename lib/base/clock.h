/* Time. Any thread. */
#pragma once

#include <stdint.h>

int64_t clock_wall_ms(void);      /* milliseconds since the Unix epoch */
int64_t clock_wall_ns(void);      /* nanoseconds since then */
int64_t clock_monotonic_us(void); /* microseconds that never go back */
int64_t clock_coarse_ms(
    void); /* milliseconds that never go back, some of them (4, say) behind: for a fifth of the cost */
