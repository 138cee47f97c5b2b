/* The edge as a daemon: made, kept going, drained, freed. */
#include "fanout/edge.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "fanout/fanout.h"

enum {
    TICK_MS = 10,          /* granularity of deadlines */
    EXPIRY_STEP_MS = 1000, /* and of expiries */
    RETRY_MS = 500,
    DRAIN_STEP_MS = 20,
    OVERLOAD_ROOM = 64, /* connections beyond the limit at once, to be told so */
    PRODUCER_FLUSH_MS = 5000,
    GATHER_SHARE = 50,
    GATHER_MAX_MS = 20
};

int64_t edge_now(const struct edge *edge) {
    return service_settings(edge->service)->clock == SERVICE_CLOCK_STREAM ? edge->stream_time : clock_wall_ms();
}

int64_t edge_clock(void) { return clock_coarse_ms(); }

int64_t edge_inactive_ms(const struct edge *edge) { return service_settings(edge->service)->inactive_after_s * 1000; }

double edge_radius(const struct edge *edge) { return service_settings(edge->service)->radius_m; }

/* ---- timers ---- */

static void deadline_fired(void *context, struct wheel_timer *timer) {
    session_due(context, (struct session *)(void *)((char *)timer - offsetof(struct session, deadline)));
}

static void expiry_fired(void *context, struct wheel_timer *timer) {
    session_expire(context, (struct session *)(void *)((char *)timer - offsetof(struct session, expiry)));
}

void edge_expire(struct edge *edge) { wheel_advance(&edge->expiries, edge_now(edge), expiry_fired, edge); }

static void tick(void *context) {
    struct edge *edge = context;
    door_look(edge, TICK_MS);
    wheel_advance(&edge->deadlines, edge_clock(), deadline_fired, edge);
    sessions_flush_ready(edge);
    if (optouts_begin(edge)) loop_idle_on(edge->hider, 1);
    if (service_settings(edge->service)->clock == SERVICE_CLOCK_WALL) edge_expire(edge);
}

static void flush_more(void *context) { sessions_flush_ready(context); }

static void hide_more(void *context) {
    struct edge *edge = context;
    loop_idle_on(edge->hider, optouts_slice(edge));
    sessions_flush_ready(edge);
}

/* ---- start ---- */

static struct metric *refused_counter(struct metrics *m, const char *labels) {
    return metrics_counter(m, "starling_edge_overloaded_total", "Connections sent away with 1013.", labels);
}

static struct metric *handshake_counter(struct metrics *m, const char *labels) {
    return metrics_counter(m, "starling_edge_handshakes_refused_total", "Connections that became no session.", labels);
}

static struct metric *skipped_counter(struct metrics *m, const char *labels) {
    return metrics_counter(m, "starling_edge_delivery_items_skipped_total",
                           "Items of delivery batches that were read, and could not be applied.", labels);
}

static void collect(void *context) {
    struct edge *edge = context;
    if (!edge->server) return;
    const struct ws_counts *counts = ws_server_counts(edge->server);
    edge->metrics.handshakes_refused->value = (double)counts->refused;
    edge->metrics.handshakes_late->value = (double)counts->late;
    edge->metrics.origins_refused->value = (double)counts->origins;
    edge->metrics.dead->value = (double)counts->dead;
    edge->metrics.floods->value = (double)(counts->floods + edge->message_floods);
}

static void metrics_start(struct edge *edge) {
    static const double SECONDS[] = {.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10};
    struct metrics *m = service_metrics(edge->service);
    edge->metrics = (struct edge_metrics){
        .sessions = metrics_gauge(m, "starling_edge_sessions", "Open WebSocket connections.", NULL),
        .hellos = metrics_counter(m, "starling_edge_hellos_total", "Sessions that said a good hello.", NULL),
        .reports = metrics_counter(m, "starling_edge_locations_produced_total",
                                   "Location records produced, repairs included.", NULL),
        .unsent = metrics_gauge(m, "starling_edge_unsent_sessions",
                                "Sessions whose latest position waits for a broker.", NULL),
        .frames = metrics_counter(m, "starling_edge_frames_total", "Frames sent.", NULL),
        .entries = metrics_counter(m, "starling_edge_entries_total",
                                   "Friends told in nearby and update frames, gone ones included.", NULL),
        .frame_bytes = metrics_counter(m, "starling_edge_frame_bytes_total", "Payload bytes of frames sent.", NULL),
        .rejoins = metrics_counter(m, "starling_edge_rejoins_total",
                                   "Complete lists asked for: routes changed, and repairs.", NULL),
        .superseded = metrics_counter(m, "starling_edge_superseded_total",
                                      "Sessions closed because the user connected elsewhere.", NULL),
        .slow = metrics_counter(m, "starling_edge_slow_closed_total", "Sessions closed because the phone did not read.",
                                NULL),
        .refused_full = refused_counter(m, "reason=\"full\""),
        .refused_behind = refused_counter(m, "reason=\"behind\""),
        .refused_storm = refused_counter(m, "reason=\"storm\""),
        .handshakes_refused = handshake_counter(m, "reason=\"no_upgrade\""),
        .handshakes_late = handshake_counter(m, "reason=\"late\""),
        .origins_refused = handshake_counter(m, "reason=\"origin\""),
        .dead =
            metrics_counter(m, "starling_edge_dead_total", "Connections dropped because no ping was answered.", NULL),
        .floods = metrics_counter(m, "starling_edge_floods_total",
                                  "Connections closed because of too many pings or messages.", NULL),
        .replaced = metrics_counter(m, "starling_edge_reports_replaced_total",
                                    "Reports that a later one within edge.min.report.ms took the place of.", NULL),
        .loop_lag =
            metrics_gauge(m, "starling_edge_loop_lag_seconds", "How late the event loop is, on the mean.", NULL),
        .errors = metrics_counter(m, "starling_edge_errors_total", "Error frames sent.", NULL),
        .items = metrics_counter(m, "starling_edge_delivery_items_total", "Items of delivery batches read.", NULL),
        .items_unknown = skipped_counter(m, "reason=\"unknown_kind\""),
        .items_malformed = skipped_counter(m, "reason=\"malformed\""),
        .routes = metrics_gauge(m, "starling_edge_routes", "Partitions of deliveries assigned to this process.", NULL),
        .stream_time =
            metrics_gauge_unknown(m, "starling_edge_stream_time_seconds", "The clock under clock=stream.", NULL),
        .certificate = metrics_gauge_unknown(m, "starling_edge_certificate_end_seconds",
                                             "When the certificate ends, since the epoch.", NULL),
        .latency = metrics_histogram(m, "starling_edge_delivery_latency_seconds",
                                     "From Kafka's time of a batch's oldest location to its application here.", NULL,
                                     SECONDS, ARRAY_SIZE(SECONDS)),
    };
    metrics_on_collect(m, collect, edge);
}

static void certificate_looked_at(struct edge *edge) {
    int64_t end_s = ws_server_expires(edge->server);
    edge->metrics.certificate->value = end_s < 0 ? (double)NAN : (double)end_s;
}

static void copies_are_ready(void *context) {
    struct edge *edge = context;
    service_ready(edge->service, "copies", true);
    edge_accept(edge);
}

static void profile_changed(void *context, int64_t user) {
    struct edge *edge = context;
    if (edge->faces) faces_forget(edge->faces, user);
}

/* Who lets updates wait for a window lets them wait for a fiftieth of it on each way through Kafka: a request there costs as
 * much as tens of reports. */
static int gathering_ms(const struct edge *edge) {
    int64_t share = edge->settings.flush_ms / GATHER_SHARE;
    return (int)(share < GATHER_MAX_MS ? share : GATHER_MAX_MS);
}

static void copy_disk_told(void *context, const struct topic *topic, const char *reason) {
    const struct edge *edge = context;
    if (reason)
        log_error(service_log(edge->service), "a copy on disk failed; it is tried again each second",
                  LOG_TEXT("topic", topic->name), LOG_TEXT("reason", reason));
    else
        log_info(service_log(edge->service), "a copy on disk goes on", LOG_TEXT("topic", topic->name));
}

static int start_copies(struct edge *edge, struct error *error) {
    const struct profiles_options profiles = {
        .data_dir = service_settings(edge->service)->data_dir,
        .partitions = edge->shape.partitions[TOPIC_SPACE_USERS],
        .log = service_log(edge->service),
        .context = edge,
        .on_change = profile_changed,
    };
    const struct sharing_modes_options modes = {
        .metrics = service_metrics(edge->service), .context = edge, .on_change = sessions_sharing};
    int result = profiles_open(&profiles, &edge->profiles, error);
    if (result) return result;
    edge->modes = sharing_modes_new(&modes);
    const struct copy_definition definitions[] = {sharing_modes_copy(edge->modes), profiles_copy(edge->profiles)};
    return copies_new(
        &(struct copies_options){
            .loop = service_loop(edge->service),
            .settings = service_kafka(edge->service),
            .partitions = edge->shape.partitions[TOPIC_SPACE_USERS],
            .definitions = definitions,
            .count = ARRAY_SIZE(definitions),
            .log = service_log(edge->service),
            .metrics = service_metrics(edge->service),
            .dead_letters = edge->producer,
            .context = edge,
            .on_ready = copies_are_ready,
            .on_disk = copy_disk_told,
        },
        &edge->copies, error);
}

static int start_kafka(struct edge *edge, struct error *error) {
    static const struct topic *const SUBSCRIBED[] = {&TOPIC_DELIVERIES};
    const struct service_settings *common = service_settings(edge->service);
    int result = kafka_producer_new(
        &(struct kafka_producer_options){
            .loop = service_loop(edge->service),
            .settings = service_kafka(edge->service),
            .metrics = service_metrics(edge->service),
            .linger_ms = gathering_ms(edge),
            .context = edge,
            .on_delivered = reports_delivered,
        },
        &edge->producer, error);
    if (result) return result;
    result = start_copies(edge, error);
    if (result) return result;
    edge->lists = lists_new();
    edge->session_memory = pool_new((sizeof(struct session) + 63) / 64 * 64);
    edge->faces = faces_new(edge->profiles, (size_t)edge->settings.faces_mb << 20);
    return kafka_consumer_new(
        &(struct kafka_consumer_options){
            .loop = service_loop(edge->service),
            .settings = service_kafka(edge->service),
            .group = edge->settings.group,
            .instance_id = common->group_instance_id,
            .subscribe = SUBSCRIBED,
            .subscribe_count = ARRAY_SIZE(SUBSCRIBED),
            .gather_ms = gathering_ms(edge),
            .context = edge,
            .on_records = deliveries_records,
            .on_assigned = routes_assigned,
            .on_revoked = routes_revoked,
            .on_fatal = routes_given_up,
        },
        &edge->consumer, error);
}

static int start_server(struct edge *edge, struct error *error) {
    int result = ws_server_new(
        &(struct ws_server_options){
            .loop = service_loop(edge->service),
            .listen = edge->settings.listen,
            .subprotocol = "starling.v1",
            .max_message = (size_t)edge->settings.max_message,
            .max_connections = (unsigned)edge->settings.max_sessions + OVERLOAD_ROOM,
            .ping_s = (unsigned)edge->settings.ping_s,
            .handshake_s = (unsigned)edge->settings.handshake_s,
            .origins = edge->settings.allowed_origins,
            .deflate = edge->settings.deflate,
            .tls_certificate = edge->settings.tls_certificate,
            .tls_key = edge->settings.tls_key,
            .context = edge,
            .callbacks = {phones_open, phones_message, phones_writable, phones_close},
        },
        &edge->server, error);
    if (result) return result;
    edge->accepting = true;
    service_ready(edge->service, "listener", true);
    certificate_looked_at(edge);
    edge_accept(edge);
    return 0;
}

static void edge_free(void *state) {
    struct edge *edge = state;
    if (!edge) return;
    loop_timer_free(edge->tick);
    loop_timer_free(edge->retry);
    loop_timer_free(edge->drain_timer);
    loop_idle_free(edge->flusher);
    loop_idle_free(edge->hider);
    sessions_free_all(edge);
    optouts_end(edge);
    wheel_free(&edge->deadlines);
    wheel_free(&edge->expiries);
    ws_server_free(edge->server);
    kafka_consumer_free(edge->consumer);
    faces_free(edge->faces);
    lists_free(edge->lists);
    pool_free(edge->session_memory);
    copies_free(edge->copies);
    sharing_modes_free(edge->modes);
    profiles_close(edge->profiles);
    kafka_producer_free(edge->producer, PRODUCER_FLUSH_MS);
    codec_free(edge->codec);
    deliver_reader_free(edge->batches);
    delivery_v1_free(edge->old_batches);
    map_free(edge->users);
    map_free(edge->ids);
    buffer_free(&edge->frame);
    buffer_free(&edge->record);
    routes_free(edge);
    free(edge);
}

static int edge_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    const struct service_settings *common = service_settings(service);
    struct edge *edge = mem_alloc(sizeof *edge);
    *edge = (struct edge){
        .service = service,
        .settings = *(const struct fanout_settings *)FANOUT_SECTION.values,
        .shape = *shape,
        .codec = codec_new(),
        .batches = deliver_reader_new(),
        .old_batches = delivery_v1_new(),
        .users = map_new(),
        .ids = map_new(),
    };
    edge->ready_tail = &edge->ready;
    wheel_init(&edge->deadlines, TICK_MS, edge_clock());
    wheel_init(&edge->expiries, EXPIRY_STEP_MS, common->clock == SERVICE_CLOCK_WALL ? clock_wall_ms() : 0);
    edge->tick = loop_timer_new(service_loop(service), TICK_MS, TICK_MS, tick, edge);
    edge->retry = loop_timer_new(service_loop(service), RETRY_MS, RETRY_MS, reports_retry, edge);
    edge->flusher = loop_idle_new(service_loop(service), flush_more, edge);
    edge->hider = loop_idle_new(service_loop(service), hide_more, edge);
    optouts_start(edge);
    metrics_start(edge);
    door_start(edge);

    int result = service_auth(service, &edge->auth, error);
    if (result == 0) result = start_kafka(edge, error);
    if (result == 0) result = start_server(edge, error);
    if (result) {
        edge_free(edge);
        return result;
    }
    *state = edge;
    return 0;
}

static void edge_reload(void *state) {
    struct edge *edge = state;
    struct error error;
    if (ws_server_renew(edge->server, &error))
        log_error(service_log(edge->service), "the certificate stays as it was", LOG_TEXT("reason", error.text));
    else if (*edge->settings.tls_certificate)
        log_info(service_log(edge->service), "the certificate was read again",
                 LOG_INT("good_for_s", ws_server_expires(edge->server) - clock_wall_ms() / 1000));
    certificate_looked_at(edge);
}

/* ---- the end ---- */

static void drained(void *context) {
    struct edge *edge = context;
    service_finished(edge->service);
}

/* How many sessions should have been told by now. */
static size_t drain_due(const struct edge *edge) {
    int64_t drain_ms = edge->settings.drain_s * 1000, elapsed = edge_clock() - edge->drain_began_ms;
    if (elapsed >= drain_ms) return SIZE_MAX;
    return (size_t)((double)edge->drain_total * (double)elapsed / (double)drain_ms) + 1;
}

static void drain_step(void *context) {
    struct edge *edge = context;
    size_t due = drain_due(edge);
    bool all = true;
    for (struct session *session = edge->sessions; session; session = session->next) {
        if (session->leaving) continue;
        all = edge->drain_told < due;
        if (!all) break;
        edge->drain_told++;
        session_leave(edge, session, WS_RESTART, "draining", door_delay(edge, 0));
    }
    if (!all || edge->shut) return;
    edge->shut = true;
    loop_timer_free(edge->drain_timer);
    edge->drain_timer = NULL;
    ws_server_shutdown(edge->server, WS_RESTART, drained, edge);
}

/* No new sessions; those that are here are moved over at an even rate. */
static void edge_drain(void *state) {
    struct edge *edge = state;
    if (edge->draining) return;
    edge->draining = true;
    edge_accept(edge);
    edge->drain_began_ms = edge_clock();
    edge->drain_total = edge->session_count;
    edge->drain_timer = loop_timer_new(service_loop(edge->service), 0, DRAIN_STEP_MS, drain_step, edge);
}

static const char *const CONDITIONS[] = {"copies", "routes", "listener", NULL};

static const struct topic *const NEEDED[] = {&TOPIC_DELIVERIES, &TOPIC_LOCATIONS, &TOPIC_PROFILES, &TOPIC_SHARING};
static const struct topic_list TOPICS = {NEEDED, ARRAY_SIZE(NEEDED)};

const struct service_definition FANOUT_SERVICE = {
    .name = "starling-fanout",
    .ops_listen = "127.0.0.1:9130",
    .section = &FANOUT_SECTION,
    .processes = "edge.processes",
    .topics = &TOPICS,
    .conditions = CONDITIONS,
    .start = edge_start,
    .reload = edge_reload,
    .drain = edge_drain,
    .free = edge_free,
};
