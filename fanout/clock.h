/* The clock of the protocol: the machine's, or (clock=stream, for replays) the highest time seen in the stream of reports.
 *
 * Times in ms since 1970. Deadlines that have nothing to do with reports go by clock_coarse_ms, which no date set by hand
 * moves. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct protocol_clock {
    bool stream;         /* the stream says what time it is */
    int64_t stream_time; /* the highest seen */
};

static inline int64_t protocol_now(const struct protocol_clock *clock) {
    return clock->stream ? clock->stream_time : clock_wall_ms();
}

/* True: the clock goes by the stream, and this time is later than all before. */
static inline bool protocol_clock_advance(struct protocol_clock *clock, int64_t stream_time) {
    if (!clock->stream || stream_time <= clock->stream_time) return false;
    clock->stream_time = stream_time;
    return true;
}
