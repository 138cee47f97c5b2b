#include "router/notifying.h"

#include <stdlib.h>

#include "base/mem.h"
#include "copies/copies.h"
#include "router/router_private.h"
#include "users/mutes.h"
#include "users/sharing_modes.h"

enum { SECOND_MS = 1000, COPIES = 2 };

struct notifying {
    const struct router *router;
    struct approaches *approaches;
    struct metric *found, *dropped;
    struct metrics
        *uncounted; /* of the copies, which are read a second time here: gauges of the first must stay what they are */
    struct sharing_modes *modes;
    struct mutes *mutes;
    struct copy_definition kept[COPIES];
    struct copies *copies;
};

/* ---- who is notified ---- */

static bool shares(const struct notifying *notifying, int64_t user) {
    return sharing_modes_find(notifying->modes, user, NULL) != SHARING_OFF;
}

static bool wanted(void *context, int64_t user, int64_t friend) {
    const struct notifying *notifying = context;
    return shares(notifying, user) && shares(notifying, friend) && !mutes_has(notifying->mutes, user, friend);
}

static void tell(void *context, const struct approach *approach) {
    struct notifying *notifying = context;
    notifying->found->value++;
    if (record_collector_approach(notifying->router->collector, approach)) notifying->dropped->value++;
}

void notifying_joined(struct notifying *notifying, const struct join_result *result) {
    if (!copies_ready(notifying->copies)) return; // nobody knows who is muted
    sharing_modes_tick(notifying->modes);
    approaches_take(notifying->approaches, result, report_clock_now(notifying->router->clock), notifying, wanted, tell);
}

/* ---- copies ---- */

/* A record that cannot be read changes nothing here: gateways and edges, which keep these copies too, send it to the dead letters. */
static int apply(void *context, const struct kafka_record *record, struct error *error) {
    const struct copy_definition *kept = context;
    struct error reason;
    (void)kept->apply(kept->context, record, &reason);
    return 0;
}

static void forget(void *context) {
    const struct copy_definition *kept = context;
    kept->forget(kept->context);
}

static int64_t now(void *context) { return report_clock_now(((const struct notifying *)context)->router->clock); }

static int start_copies(struct notifying *notifying, struct error *error) {
    const struct router *router = notifying->router;
    struct copy_definition definitions[COPIES];
    notifying->uncounted = metrics_new();
    notifying->modes = sharing_modes_new(
        &(struct sharing_modes_options){.metrics = notifying->uncounted, .context = notifying, .now = now});
    notifying->mutes =
        mutes_new(&(struct mutes_options){.metrics = notifying->uncounted, .partitions = router->partitions});
    notifying->kept[0] = sharing_modes_copy(notifying->modes);
    notifying->kept[1] = mutes_copy(notifying->mutes);
    for (size_t i = 0; i < COPIES; i++)
        definitions[i] = (struct copy_definition){
            .topic = notifying->kept[i].topic, .context = &notifying->kept[i], .apply = apply, .forget = forget};
    return copies_new(
        &(struct copies_options){
            .loop = service_loop(router->service),
            .settings = service_kafka(router->service),
            .partitions = router->partitions,
            .definitions = definitions,
            .count = COPIES,
            .log = service_log(router->service),
            .metrics = notifying->uncounted,
        },
        &notifying->copies, error);
}

/* ---- beginning and end ---- */

int notifying_new(const struct router *router, struct notifying **out, struct error *error) {
    if (!router->settings->notify_approaches) {
        *out = NULL;
        return 0;
    }
    struct metrics *metrics = service_metrics(router->service);
    struct notifying *notifying = MEM_NEW(&(struct notifying){
        .router = router,
        .approaches = approaches_new(router->settings->notify_pause_s * SECOND_MS),
        .found = metrics_counter(metrics, "starling_router_approaches_total",
                                 "Users without a session near whom a friend has come, dropped ones included.", NULL),
        .dropped = metrics_counter(metrics, "starling_router_approaches_dropped_total",
                                   "Approaches that could not be written: the producer had no room.", NULL),
    });
    *out = notifying;
    return start_copies(notifying, error);
}

void notifying_free(struct notifying *notifying) {
    if (!notifying) return;
    copies_free(notifying->copies);
    sharing_modes_free(notifying->modes);
    mutes_free(notifying->mutes);
    metrics_free(notifying->uncounted);
    approaches_free(notifying->approaches);
    free(notifying);
}
