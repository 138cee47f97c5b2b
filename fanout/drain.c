#include "fanout/drain.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

enum { STEP_MS = 20 };

struct drain {
    struct drain_options options;
    struct loop_timer *timer;
    int64_t began_ms; /* clock_coarse_ms */
    size_t total, told;
};

/* How many sessions should have been told by now. */
static size_t due(const struct drain *drain) {
    int64_t duration_ms = drain->options.duration_s * 1000, elapsed = clock_coarse_ms() - drain->began_ms;
    if (elapsed >= duration_ms) return SIZE_MAX;
    return (size_t)((double)drain->total * (double)elapsed / (double)duration_ms) + 1;
}

static void step(void *context) {
    struct drain *drain = context;
    struct sessions *sessions = drain->options.sessions;
    size_t most = due(drain);
    for (struct session *session = sessions_first(sessions); session; session = session_next(session)) {
        if (session_leaving(session)) continue;
        if (drain->told >= most) return;
        drain->told++;
        session_leave(sessions, session, WS_RESTART, "draining", door_delay(drain->options.door, 0));
    }
    loop_timer_free(drain->timer);
    drain->timer = NULL;
    drain->options.told(drain->options.context);
}

struct drain *drain_new(const struct drain_options *options) {
    struct drain *drain = mem_alloc(sizeof *drain);
    *drain = (struct drain){
        .options = *options,
        .began_ms = clock_coarse_ms(),
        .total = sessions_count(options->sessions),
    };
    drain->timer = loop_timer_new(options->loop, 0, STEP_MS, step, drain);
    return drain;
}

void drain_free(struct drain *drain) {
    if (!drain) return;
    loop_timer_free(drain->timer);
    free(drain);
}
