#include "router/report_clock.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

struct report_clock {
    bool stream;
    int64_t ahead_ms, jump_ms;
    int64_t wall;        /* of the last tick */
    int64_t highest;     /* of all partitions */
    int64_t *highest_of; /* by partition; -1: nothing yet */
};

struct report_clock *report_clock_new(bool stream, int32_t partitions, int64_t ahead_ms, int64_t jump_ms) {
    struct report_clock *clock = MEM_NEW(&(struct report_clock){
        .stream = stream,
        .ahead_ms = ahead_ms,
        .jump_ms = jump_ms,
        .wall = clock_wall_ms(),
        .highest_of = mem_alloc((size_t)partitions * sizeof *clock->highest_of),
    });
    for (int32_t p = 0; p < partitions; p++) clock->highest_of[p] = -1;
    return clock;
}

void report_clock_free(struct report_clock *clock) {
    if (!clock) return;
    free(clock->highest_of);
    free(clock);
}

void report_clock_tick(struct report_clock *clock) { clock->wall = clock_wall_ms(); }

int64_t report_clock_now(const struct report_clock *clock) { return clock->stream ? clock->highest : clock->wall; }

int64_t report_clock_stream(const struct report_clock *clock) { return clock->highest; }

static bool believable(const struct report_clock *clock, int32_t partition, int64_t time) {
    if (!clock->stream) return time <= clock->wall + clock->ahead_ms;
    int64_t highest = clock->highest_of[partition];
    return highest < 0 || time <= highest + clock->jump_ms;
}

bool report_clock_accept(struct report_clock *clock, int32_t partition, struct location *event) {
    if (event->kind == LOCATION_QUIT) return true;
    if (event->kind == LOCATION_LEAVE) {
        int64_t now = report_clock_now(clock);
        if (event->time > now) event->time = now;
        return true;
    }
    if (!believable(clock, partition, event->time)) return false;
    if (event->kind == LOCATION_REJOIN) return true; // repeats a report that has been seen
    if (event->time > clock->highest_of[partition]) clock->highest_of[partition] = event->time;
    if (event->time > clock->highest) clock->highest = event->time;
    return true;
}
