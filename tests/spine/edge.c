/* test-spine-edge: a WebSocket edge that knows only watching. Text frames, in JSON:
 *
 *     client -> edge    {"type":"watch","counter":"x","version":3}  (version: of the page that the client has; may be left out)
 *                       {"type":"unwatch","counter":"x"}
 *     edge -> client    {"type":"change","counter":"x","since":3,"version":4,"value":17}
 *                       {"type":"stale","counter":"x","version":4,"after_ms":12}
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "counters.h"
#include "deliver/envelope.h"
#include "json/json.h"
#include "kafka/producer.h"
#include "service/service.h"
#include "watch/edge.h"
#include "ws/ws.h"

enum { STEP_MS = 10, STEP_MOST = 20 };

static struct settings {
    const char *listen, *group_id;
    int64_t watch_speed;
} settings;

static const struct config_property PROPERTIES[] = {
    {"edge.listen", CONFIG_STRING, offsetof(struct settings, listen), "127.0.0.1:0", .doc = "host:port of WebSockets."},
    {"edge.group.id", CONFIG_STRING, offsetof(struct settings, group_id), "edges", .doc = "Consumer group."},
    {"watch.speed", CONFIG_INT, offsetof(struct settings, watch_speed), "1", .min = 1, .max = 1000,
     .doc = "The minute of watching is that many times shorter."},
};
static const struct config_section SECTION = {"Edge", PROPERTIES, ARRAY_SIZE(PROPERTIES), &settings};

struct edge {
    struct service *service;
    int32_t partitions;
    struct kafka_consumer *consumer;
    struct kafka_producer *producer;
    struct deliver_reader *reader;
    struct watch_edge *watches;
    struct ws_server *server;
    struct map *connections; /* session -> struct ws_connection */
    uint64_t sessions;
    struct loop_timer *step;
    struct buffer frame;
};

static int64_t watch_clock(void) { return clock_monotonic_us() / 1000 * settings.watch_speed; }

/* ---- watching ---- */

static int32_t partition_of(void *context, const void *what, size_t size) {
    return counter_partition(what, size, ((struct edge *)context)->partitions);
}

static int write_watch(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                       size_t value_size) {
    struct edge *edge = context;
    int code = kafka_producer_send(edge->producer, &COUNTER_WATCHES, partition, key, key_size, value, value_size, NULL);
    return code ? -EAGAIN : 0;
}

/* A session that reads too slowly to be told is closed: its phone watches anew when it is back. */
static void say(struct edge *edge, uint64_t session) {
    struct ws_connection *connection = map_pointer(edge->connections, session);
    if (connection && ws_send(connection, &edge->frame)) ws_close(connection, WS_TOO_SLOW, NULL);
}

static void start_frame(struct edge *edge, const char *type, const void *what, size_t size) {
    ws_frame_start(&edge->frame);
    buffer_format(&edge->frame, "{\"type\":\"%s\",\"counter\":", type);
    json_put_text(&edge->frame, what, size);
}

static void tell_change(void *context, uint64_t session, const void *what, size_t size, struct watch_version since,
                        struct watch_version version, const void *content, size_t content_size) {
    struct edge *edge = context;
    start_frame(edge, "change", what, size);
    buffer_format(&edge->frame, ",\"since\":%lld,\"version\":%lld,\"value\":%.*s}", (long long)since.number,
                  (long long)version.number, (int)content_size, (const char *)content);
    say(edge, session);
}

static void tell_stale(void *context, uint64_t session, const void *what, size_t size, struct watch_version version,
                       int64_t after_ms) {
    struct edge *edge = context;
    start_frame(edge, "stale", what, size);
    buffer_format(&edge->frame, ",\"version\":%lld,\"after_ms\":%lld}", (long long)version.number,
                  (long long)(after_ms / settings.watch_speed));
    say(edge, session);
}

static void step(void *context) {
    struct edge *edge = context;
    for (int i = 0; i < STEP_MOST && !watch_edge_continue(edge->watches, watch_clock()); i++)
        ;
}

/* ---- deliveries ---- */

static void take_batch(struct edge *edge, const struct kafka_record *record) {
    struct deliver_envelope envelope;
    struct deliver_head head;
    struct error error;
    if (deliver_reader_start(edge->reader, record->value, record->value_size, &head, &error)) return;
    while (deliver_reader_next(edge->reader, &envelope) == 1) {
        // A delivery that finds no room, or cannot be read, is made good by roll calls.
        if (envelope.kind == WATCH_DELIVERY_KIND)
            watch_edge_take(edge->watches, envelope.payload, envelope.payload_size);
    }
}

static void take(void *context, const struct kafka_record *records, size_t count) {
    for (size_t i = 0; i < count; i++) take_batch(context, &records[i]);
    step(context);
}

/* The first partition of deliveries is the route: what went to another one of this process is read all the same. */
static void assigned(void *context, const struct kafka_position *owned, size_t count) {
    struct edge *edge = context;
    struct kafka_position *read = mem_alloc((count + 1) * sizeof *read);
    struct error error;
    for (size_t i = 0; i < count; i++) {
        read[i] = owned[i];
        read[i].offset = kafka_consumer_position(edge->consumer, owned[i].topic, owned[i].partition);
        if (read[i].offset < 0) read[i].offset = KAFKA_OFFSET_END;
    }
    if (kafka_consumer_read(edge->consumer, read, count, &error)) service_fail(edge->service, error.text);
    free(read);
    watch_edge_route(edge->watches, count ? owned[0].partition : -1);
    service_ready(edge->service, "route", count > 0);
}

static void revoked(void *context, bool lost) { service_ready(((struct edge *)context)->service, "route", false); }

static void given_up(void *context, const char *reason) { service_fail(((struct edge *)context)->service, reason); }

/* ---- phones ---- */

static uint64_t session_of(struct ws_connection *connection) { return (uint64_t)(uintptr_t)ws_context(connection); }

static void on_open(void *context, struct ws_connection *connection) {
    struct edge *edge = context;
    ws_set_context(connection, (void *)(uintptr_t)++edge->sessions);
    *map_put(edge->connections, edge->sessions, NULL) = (uintptr_t)connection;
}

static void on_close(void *context, struct ws_connection *connection, int code) {
    struct edge *edge = context;
    map_remove(edge->connections, session_of(connection), NULL);
    watch_edge_leave(edge->watches, session_of(connection));
}

static int obey(struct edge *edge, uint64_t session, const json_t *said) {
    const char *type, *counter;
    struct watch_version version = {.number = 0};
    if (json_want_text(said, "type", &type, NULL) || json_want_text(said, "counter", &counter, NULL)) return -EINVAL;
    if (strcmp(type, "unwatch") == 0) {
        watch_edge_hide(edge->watches, session, counter, strlen(counter));
        return 0;
    }
    if (strcmp(type, "watch") != 0) return -EINVAL;
    int code = json_want_int(said, "version", 0, INT64_MAX, &version.number, NULL);
    if (code == -EINVAL) return code;
    return watch_edge_show(edge->watches, session, counter, strlen(counter), code ? NULL : &version);
}

static void on_message(void *context, struct ws_connection *connection, const char *text, size_t size) {
    struct edge *edge = context;
    json_t *said = json_parse(text, size, NULL);
    if (!said || obey(edge, session_of(connection), said)) ws_close(connection, WS_POLICY, "not understood");
    json_decref(said);
    step(edge);
}

static void on_writable(void *context, struct ws_connection *connection) {}

/* ---- beginning and end ---- */

static void edge_free(void *state) {
    struct edge *edge = state;
    if (!edge) return;
    loop_timer_free(edge->step);
    ws_server_free(edge->server);
    kafka_consumer_free(edge->consumer);
    kafka_producer_free(edge->producer, 0);
    deliver_reader_free(edge->reader);
    watch_edge_free(edge->watches);
    map_free(edge->connections);
    buffer_free(&edge->frame);
    free(edge);
}

static int open_kafka(struct edge *edge, struct error *error) {
    static const struct topic *const SUBSCRIBE[] = {&COUNTER_DELIVERIES};
    struct kafka_producer_options producer = {
        .loop = service_loop(edge->service), .settings = service_kafka(edge->service), .context = edge};
    struct kafka_consumer_options consumer = {
        .loop = service_loop(edge->service),
        .settings = service_kafka(edge->service),
        .group = settings.group_id,
        .subscribe = SUBSCRIBE,
        .subscribe_count = 1,
        .context = edge,
        .on_records = take,
        .on_assigned = assigned,
        .on_revoked = revoked,
        .on_fatal = given_up,
    };
    int code = kafka_producer_new(&producer, &edge->producer, error);
    return code ? code : kafka_consumer_new(&consumer, &edge->consumer, error);
}

static int open_door(struct edge *edge, struct error *error) {
    struct ws_server_options server = {
        .loop = service_loop(edge->service),
        .listen = settings.listen,
        .subprotocol = "starling.v1",
        .max_message = 4096,
        .max_connections = 1000,
        .context = edge,
        .callbacks = {.on_open = on_open, .on_message = on_message, .on_writable = on_writable, .on_close = on_close},
    };
    int code = ws_server_new(&server, &edge->server, error);
    return code ? code : ws_server_accept(edge->server, true);
}

static int edge_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    struct edge *edge = mem_alloc(sizeof *edge);
    *edge = (struct edge){
        .service = service,
        .partitions = shape->partitions[TOPIC_SPACE_USERS],
        .reader = deliver_reader_new(),
        .connections = map_new(),
        .step = loop_timer_new(service_loop(service), STEP_MS, STEP_MS, step, edge),
    };
    struct watch_edge_options watches = {
        .partitions = edge->partitions,
        .context = edge,
        .partition = partition_of,
        .write = write_watch,
        .tell_change = tell_change,
        .tell_stale = tell_stale,
    };
    if (getrandom(&watches.watcher, sizeof watches.watcher, 0) != sizeof watches.watcher) abort();
    edge->watches = watch_edge_new(&watches, watch_clock());
    int code = open_kafka(edge, error);
    if (!code) code = open_door(edge, error);
    if (code) {
        edge_free(edge);
        return code;
    }
    *state = edge;
    return 0;
}

static void closed(void *context) { service_finished(((struct edge *)context)->service); }

static void edge_drain(void *state) {
    struct edge *edge = state;
    ws_server_shutdown(edge->server, WS_RESTART, closed, edge);
}

int main(int argc, char **argv) {
    static const char *const CONDITIONS[] = {"route", NULL};
    static const struct topic_use TOPICS[] = {{&COUNTER_WATCHES, TOPIC_WRITES}, {&COUNTER_DELIVERIES, TOPIC_READS}};
    static const struct topic_uses USES = {TOPICS, ARRAY_SIZE(TOPICS)};
    static const struct service_definition DEFINITION = {
        .name = "test-spine-edge",
        .ops_listen = "127.0.0.1:0",
        .section = &SECTION,
        .uses = &USES,
        .conditions = CONDITIONS,
        .start = edge_start,
        .drain = edge_drain,
        .free = edge_free,
    };
    return service_main(argc, argv, &DEFINITION);
}
