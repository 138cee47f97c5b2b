#include "router/notifying.h"

#include <stdlib.h>

#include "base/mem.h"
#include "router/router_private.h"

enum { SECOND_MS = 1000 };

struct notifying {
    const struct router *router;
    struct approaches *approaches;
    struct metric *found, *dropped;
};

static bool wanted(void *context, int64_t user, int64_t friend) {
    const struct notifying *notifying = context;
    return choices_sees(notifying->router->choices, user, friend);
}

static void tell(void *context, const struct approach *approach) {
    struct notifying *notifying = context;
    notifying->found->value++;
    if (record_collector_approach(notifying->router->collector, approach)) notifying->dropped->value++;
}

void notifying_joined(struct notifying *notifying, const struct join_result *result) {
    const struct router *router = notifying->router;
    if (!choices_ready(router->choices)) return; // nobody knows who is muted
    approaches_take(notifying->approaches, result, report_clock_now(router->clock), notifying, wanted, tell);
}

int notifying_new(const struct router *router, struct notifying **out, struct error *error) {
    if (!router->settings->notify_approaches) {
        *out = NULL;
        return 0;
    }
    struct metrics *metrics = service_metrics(router->service);
    *out = MEM_NEW(&(struct notifying){
        .router = router,
        .approaches = approaches_new(router->settings->notify_pause_s * SECOND_MS),
        .found = metrics_counter(metrics, "starling_router_approaches_total",
                                 "Users without a session near whom a friend has come, dropped ones included.", NULL),
        .dropped = metrics_counter(metrics, "starling_router_approaches_dropped_total",
                                   "Approaches that could not be written: the producer had no room.", NULL),
    });
    return choices_read(router->choices, error);
}

void notifying_free(struct notifying *notifying) {
    if (!notifying) return;
    approaches_free(notifying->approaches);
    free(notifying);
}
