#include "comments/heat.h"

enum { FRACTION_BITS = 5, STEP_MS = 450000 };

__extension__ typedef unsigned __int128 wide;

/* floor(log2(x) * 2^FRACTION_BITS), x above 0: one bit of the fraction with each squaring. */
static int64_t log2_steps(uint64_t x) {
    int whole = 63 - __builtin_clzll(x);
    uint64_t mantissa = x << (63 - whole); // 1 to 2, as a number of 2^63
    int64_t steps = whole;
    for (int i = 0; i < FRACTION_BITS; i++) {
        wide square = (wide)mantissa * mantissa >> 63;
        int bit = (int)(square >> 64);
        mantissa = (uint64_t)(square >> bit);
        steps = steps << 1 | bit;
    }
    return steps;
}

int64_t heat_of(int64_t likes, int64_t time_ms) { return time_ms + log2_steps((uint64_t)likes + 1) * STEP_MS; }
