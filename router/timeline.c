#include "router/timeline.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

struct timeline {
    bool stream;
    int64_t ahead_ms, jump_ms;
    int64_t wall;        /* of the last tick */
    int64_t highest;     /* of all partitions */
    int64_t *highest_of; /* by partition; -1: nothing yet */
};

struct timeline *timeline_new(bool stream, int32_t partitions, int64_t ahead_ms, int64_t jump_ms) {
    struct timeline *timeline = mem_alloc(sizeof *timeline);
    *timeline = (struct timeline){
        .stream = stream,
        .ahead_ms = ahead_ms,
        .jump_ms = jump_ms,
        .wall = clock_wall_ms(),
        .highest = 0,
        .highest_of = mem_alloc((size_t)partitions * sizeof *timeline->highest_of),
    };
    for (int32_t p = 0; p < partitions; p++) timeline->highest_of[p] = -1;
    return timeline;
}

void timeline_free(struct timeline *timeline) {
    if (!timeline) return;
    free(timeline->highest_of);
    free(timeline);
}

void timeline_tick(struct timeline *timeline) { timeline->wall = clock_wall_ms(); }

int64_t timeline_now(const struct timeline *timeline) { return timeline->stream ? timeline->highest : timeline->wall; }

int64_t timeline_stream(const struct timeline *timeline) { return timeline->highest; }

static bool believable(const struct timeline *timeline, int32_t partition, int64_t time) {
    if (!timeline->stream) return time <= timeline->wall + timeline->ahead_ms;
    int64_t highest = timeline->highest_of[partition];
    return highest < 0 || time <= highest + timeline->jump_ms;
}

bool timeline_accept(struct timeline *timeline, int32_t partition, struct location *event) {
    if (event->kind == LOCATION_QUIT) return true;
    if (event->kind == LOCATION_LEAVE) {
        int64_t now = timeline_now(timeline);
        if (event->time > now) event->time = now;
        return true;
    }
    if (!believable(timeline, partition, event->time)) return false;
    if (event->kind == LOCATION_REJOIN) return true; // repeats a report that has been seen
    if (event->time > timeline->highest_of[partition]) timeline->highest_of[partition] = event->time;
    if (event->time > timeline->highest) timeline->highest = event->time;
    return true;
}
