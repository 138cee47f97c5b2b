#include "router/notifying.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/handoff.h"
#include "base/mem.h"
#include "copies/copies.h"
#include "json/json.h"
#include "router/router_private.h"
#include "service/poster.h"
#include "users/mutes.h"
#include "users/sharing_modes.h"

enum { SECOND_MS = 1000, WAITING_MAX = 16384 /* approaches: 0.5 MB */, GATHER_MS = 200, KEY_MIN = 32, COPIES = 2 };

struct notifying {
    const struct router *router;
    struct approaches *approaches;
    struct handoff *waiting;
    struct poster *poster;
    struct metrics
        *uncounted; /* of the copies, which are read a second time here: gauges of the first must stay what they are */
    struct sharing_modes *modes;
    struct mutes *mutes;
    struct copy_definition kept[COPIES];
    struct copies *copies;
};

int notifying_check(const struct router_settings *settings, struct error *error) {
    int code = poster_check_url("notify.url", settings->notify_url, error);
    if (code) return code;
    if (*settings->notify_key && strlen(settings->notify_key) < KEY_MIN)
        return error_set(error, -EINVAL, "notify.key: must have at least %d bytes", KEY_MIN);
    return 0;
}

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
    handoff_put(notifying->waiting, approach);
}

void notifying_joined(struct notifying *notifying, const struct join_result *result) {
    if (!copies_ready(notifying->copies)) return; // nobody knows who is muted
    sharing_modes_tick(notifying->modes);
    approaches_take(notifying->approaches, result, report_clock_now(notifying->router->clock), notifying, wanted, tell);
}

/* ---- posts ---- */

static void write_items(const void *context, struct buffer *body, const void *items, size_t count) {
    const struct approach *approaches = items;
    buffer_string(body, "{\"items\":[");
    for (size_t i = 0; i < count; i++) {
        const struct approach *one = &approaches[i];
        buffer_format(body, "%s{\"user\":%" PRId64 ",\"friend\":%" PRId64 ",\"distance_m\":", i ? "," : "", one->user,
                      one->friend);
        json_put_fixed1(body, one->distance_m);
        buffer_format(body, ",\"time\":%" PRId64 "}", one->time);
    }
    buffer_string(body, "]}");
}

static void collect(void *context) {
    const struct notifying *notifying = context;
    struct handoff_counts counts = handoff_read_counts(notifying->waiting);
    const struct metric_now now[] = {
        {"starling_router_notices_total", "Users without a session near whom a friend has come, dropped ones included.",
         (double)counts.put},
        {"starling_router_notices_dropped_total",
         "Notices that were not posted: the receiver of notify.url is too slow, away, or refuses them.",
         (double)counts.dropped},
        {"starling_router_notify_posts_failed_total",
         "Posts that the receiver of notify.url did not take, each try counted.",
         (double)poster_failed(notifying->poster)},
    };
    metrics_set(service_metrics(notifying->router->service), now, ARRAY_SIZE(now));
}

static void start_posts(struct notifying *notifying) {
    const struct router_settings *settings = notifying->router->settings;
    notifying->waiting = handoff_new(WAITING_MAX, sizeof(struct approach));
    notifying->poster = poster_new(&(struct poster_options){
        .url = settings->notify_url,
        .key = settings->notify_key,
        .items = notifying->waiting,
        .gather_ms = GATHER_MS,
        .write = write_items,
    });
    poster_start(notifying->poster);
    metrics_on_collect(service_metrics(notifying->router->service), collect, notifying);
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
    if (!*router->settings->notify_url) {
        *out = NULL;
        return 0;
    }
    struct notifying *notifying = MEM_NEW(&(struct notifying){
        .router = router, .approaches = approaches_new(router->settings->notify_pause_s * SECOND_MS)});
    start_posts(notifying);
    *out = notifying;
    return start_copies(notifying, error);
}

void notifying_free(struct notifying *notifying) {
    if (!notifying) return;
    copies_free(notifying->copies);
    sharing_modes_free(notifying->modes);
    mutes_free(notifying->mutes);
    metrics_free(notifying->uncounted);
    poster_free(notifying->poster);
    handoff_free(notifying->waiting);
    approaches_free(notifying->approaches);
    free(notifying);
}
