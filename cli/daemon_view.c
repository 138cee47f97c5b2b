#include "cli/daemon_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "cli/metrics_text.h"
#include "json/json.h"

/* The metrics that tell of each daemon, in the order in which data flows through them. NULL: it has no such metric. */
static const struct daemon_kind {
    const char *name, *owned, *standby, *lag, *records, *sessions;
    const char *partition; /* only the records with this label `partition` count */
    bool lag_in_records;
} KINDS[] = {
    {.name = "ingest", .records = "starling_ingest_requests_total"},
    {.name = "router",
     .owned = "starling_router_partitions_owned",
     .standby = "starling_router_partitions_standby",
     .lag = "starling_router_lag_seconds",
     .records = "starling_router_events_total",
     .partition = "owned"},
    {.name = "fanout",
     .lag = "starling_edge_loop_lag_seconds",
     .records = "starling_edge_delivery_items_total",
     .sessions = "starling_edge_sessions"},
    {.name = "feed",
     .owned = "starling_feed_partitions_owned",
     .standby = "starling_feed_partitions_standby",
     .lag = "starling_feed_lag_seconds",
     .records = "starling_feed_commands_total"},
    {.name = "comments",
     .owned = "starling_comments_partitions_owned",
     .standby = "starling_comments_partitions_standby",
     .lag = "starling_comments_commands_queued",
     .lag_in_records = true,
     .records = "starling_comments_commands_total"},
    {.name = "places",
     .owned = "starling_places_partitions_owned",
     .standby = "starling_places_partitions_standby",
     .lag = "starling_places_commands_queued",
     .lag_in_records = true,
     .records = "starling_places_commands_total"},
    {.name = "history-sink",
     .owned = "starling_history_partitions",
     .lag = "starling_history_lag_records",
     .lag_in_records = true,
     .records = "starling_history_rows_total"},
    {.name = "moderation",
     .lag = "starling_moderation_lag_records",
     .lag_in_records = true,
     .records = "starling_moderation_records_total"},
};

static const struct daemon_numbers NOTHING = {.read_s = (double)NAN,
                                              .started_s = (double)NAN,
                                              .cpu_s = (double)NAN,
                                              .memory_bytes = (double)NAN,
                                              .owned = (double)NAN,
                                              .standby = (double)NAN,
                                              .lag = (double)NAN,
                                              .sessions = (double)NAN,
                                              .records = (double)NAN};

static void forget_numbers(struct daemon_view *view) {
    view->numbers = NOTHING;
    view->records_per_s = view->cpu = (double)NAN;
}

void daemon_view_init(struct daemon_view *view, const char *address) {
    *view = (struct daemon_view){
        .address = address, .state = DAEMON_UNKNOWN, .kind = ARRAY_SIZE(KINDS), .seen_started_s = (double)NAN};
    forget_numbers(view);
}

void daemon_view_away(struct daemon_view *view, const char *why) {
    view->state = DAEMON_AWAY;
    snprintf(view->note, sizeof view->note, "%s", why);
    forget_numbers(view);
}

/* ---- /readyz ---- */

/* "waiting for kafka, warm" */
static void note_conditions(struct daemon_view *view, json_t *conditions) {
    const char *name, *before = "waiting for ";
    json_t *value;
    json_object_foreach(conditions, name, value) {
        size_t used = strlen(view->note);
        if (json_is_true(value)) continue;
        snprintf(view->note + used, sizeof view->note - used, "%s%s", before, name);
        before = ", ";
    }
}

bool daemon_view_readiness(struct daemon_view *view, unsigned status, const char *reply, size_t size) {
    json_t *answer = status == 200 || status == 503 ? json_parse(reply, size, NULL) : NULL;
    json_t *conditions = json_object_get(answer, "conditions");
    bool ready, draining;
    bool good = json_is_object(conditions) && !json_want_bool(answer, "ready", &ready, NULL) &&
                !json_want_bool(answer, "draining", &draining, NULL);
    if (good) {
        view->state = draining ? DAEMON_DRAINING : ready ? DAEMON_READY : DAEMON_NOT_READY;
        view->note[0] = '\0';
        note_conditions(view, conditions);
    } else {
        daemon_view_away(view, "another program answers there");
    }
    json_decref(answer);
    return good;
}

/* ---- /metrics ---- */

static void copy_label(const struct metrics_sample *sample, const char *key, char *to, size_t size) {
    struct buffer text = {.data = NULL};
    if (metrics_text_label(sample, key, &text)) snprintf(to, size, "%s", buffer_cstring(&text));
    buffer_free(&text);
}

/* Reads the daemon's kind and version from starling_build_info. */
static void take_identity(struct daemon_view *view, const struct metrics_sample *sample) {
    static const char PREFIX[] = "starling-";
    char daemon[sizeof view->name] = "";
    copy_label(sample, "daemon", daemon, sizeof daemon);
    copy_label(sample, "version", view->version, sizeof view->version);
    bool ours = !strncmp(daemon, PREFIX, sizeof PREFIX - 1);
    snprintf(view->name, sizeof view->name, "%s", ours ? daemon + sizeof PREFIX - 1 : daemon);
    view->kind = ARRAY_SIZE(KINDS);
    for (size_t i = 0; i < ARRAY_SIZE(KINDS); i++)
        if (!strcmp(view->name, KINDS[i].name)) view->kind = (int)i;
}

static void add(double *to, double value) { *to = isnan(*to) ? value : *to + value; }

static bool is(const struct metrics_sample *sample, const char *name) {
    return name && metrics_text_named(sample, name);
}

static bool counts(const struct metrics_sample *sample, const struct daemon_kind *kind) {
    if (!is(sample, kind->records)) return false;
    if (!kind->partition) return true;
    char partition[16] = "";
    copy_label(sample, "partition", partition, sizeof partition);
    return !strcmp(partition, kind->partition);
}

/* A metric with several series: their sum, of lags the longest. */
static void take_sample(struct daemon_numbers *numbers, const struct metrics_sample *sample,
                        const struct daemon_kind *kind) {
    if (is(sample, "process_cpu_seconds_total")) numbers->cpu_s = sample->value;
    if (is(sample, "process_resident_memory_bytes")) numbers->memory_bytes = sample->value;
    if (is(sample, "process_start_time_seconds")) numbers->started_s = sample->value;
    if (is(sample, kind->owned)) add(&numbers->owned, sample->value);
    if (is(sample, kind->standby)) add(&numbers->standby, sample->value);
    if (is(sample, kind->lag) && !(sample->value <= numbers->lag)) numbers->lag = sample->value;
    if (is(sample, "starling_command_refused_time_seconds")) numbers->refused_s = sample->value;
    if (is(sample, kind->sessions)) add(&numbers->sessions, sample->value);
    if (counts(sample, kind)) add(&numbers->records, sample->value);
}

/* Another process has another start. A clock that was set may move the start a little, but it is told once, by the process. */
static bool is_another(double before_s, double now_s) { return !isnan(before_s) && !isnan(now_s) && before_s != now_s; }

static double per_second(double before, double now, double seconds) {
    return seconds > 0 && now >= before ? (now - before) / seconds : (double)NAN;
}

void daemon_view_numbers(struct daemon_view *view, const char *text, double now_s) {
    static const struct daemon_kind NO_KIND = {.name = NULL};
    const struct daemon_numbers before = view->numbers;
    struct daemon_numbers now = NOTHING;
    struct metrics_sample sample;
    for (const char *at = text; metrics_text_next(&at, &sample);)
        if (is(&sample, "starling_build_info")) take_identity(view, &sample);
    const struct daemon_kind *kind = view->kind < (int)ARRAY_SIZE(KINDS) ? &KINDS[view->kind] : &NO_KIND;
    for (const char *at = text; metrics_text_next(&at, &sample);) take_sample(&now, &sample, kind);
    now.read_s = now_s;
    bool restarted = is_another(view->seen_started_s, now.started_s);
    double seconds = restarted ? (double)NAN : now.read_s - before.read_s;
    view->restarts += restarted;
    if (!isnan(now.started_s)) view->seen_started_s = now.started_s;
    view->lag_in_records = kind->lag_in_records;
    view->records_per_s = per_second(before.records, now.records, seconds);
    view->cpu = per_second(before.cpu_s, now.cpu_s, seconds);
    view->numbers = now;
}
