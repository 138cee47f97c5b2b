/* The gateway as a daemon, and the table of what it answers. */
#include "ingest/gateway.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "ingest/ingest.h"

enum { DRAIN_STEP_MS = 50, DRAIN_MAX_TICKS = 200, PRODUCER_FLUSH_MS = 5000, RETRY_AFTER_S = 2, SECOND_MS = 1000 };

static const struct route {
    const char *method, *path; /* a last part {user} is a user id */
    endpoint *handle;
} ROUTES[] = {
    {"POST", "/v1/locations", post_locations},
    {"GET", "/v1/profile", get_profile},
    {"PUT", "/v1/profile", put_profile},
    {"GET", "/v1/profiles/{user}", get_profile_of},
    {"GET", "/v1/sharing", get_sharing},
    {"PUT", "/v1/sharing", put_sharing},
    {"GET", "/v1/friends", get_friends},
    {"PUT", "/v1/friends/{user}", put_friend},
    {"DELETE", "/v1/friends/{user}", delete_friend},
    {"PUT", "/v1/blocks/{user}", put_block},
    {"DELETE", "/v1/blocks/{user}", delete_block},
    {"POST", "/v1/friendships", post_friendship},
    {"GET", "/v1/history", get_history},
};

/* ---- what endpoints share ---- */

static int parse_int(const char *text, int64_t *value) {
    char *end;
    if (*text < '0' || *text > '9') return -EINVAL; /* strtoll would pass over spaces and signs */
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno || *end) return -EINVAL;
    *value = number;
    return 0;
}

json_t *call_body(const struct call *call) {
    size_t size;
    struct error error;
    const void *text = http_body(call->request, &size);
    json_t *object = json_parse(text, size, &error);
    if (object && json_is_object(object)) return object;
    http_problem(call->request, 400, "bad_message", object ? "the body must be a JSON object" : error.text, 0);
    json_decref(object);
    return NULL;
}

int64_t call_user(const struct call *call) {
    if (call->claims.user < 0) http_problem(call->request, 403, "not_a_user", "the token names no user", 0);
    return call->claims.user;
}

bool call_query_int(const struct call *call, const char *name, int64_t *value) {
    const char *text = http_query(call->request, name);
    if (!text || parse_int(text, value) == 0) return true;
    struct error error;
    error_set(&error, 0, "\"%s\" must be a whole number from 0", name);
    http_problem(call->request, 400, "bad_query", error.text, 0);
    return false;
}

void call_pass_on(struct http_request *request, int code, unsigned status, const char *reply, size_t size) {
    static const struct http_field FIELDS[] = {{"Cache-Control", "no-store"}};
    if (code == 0 && status == 200)
        http_reply(request, status, "application/json", reply, size, FIELDS, ARRAY_SIZE(FIELDS));
    else if (code == 0 && status == 400)
        http_problem(request, 400, "bad_query",
                     "the owner does not accept the parameters: is `after` of a page before?", 0);
    else
        http_problem(request, 503, "owner_unavailable",
                     "the process that has the answer is just being moved or restarted", RETRY_AFTER_S);
}

/* ---- routing ---- */

/* *parameter becomes the user in the path, -1 if it is none. */
static bool match(const char *pattern, const char *path, int64_t *parameter) {
    const char *brace = strchr(pattern, '{');
    *parameter = -1;
    if (!brace) return strcmp(pattern, path) == 0;
    size_t prefix = (size_t)(brace - pattern);
    if (strncmp(pattern, path, prefix) != 0 || !path[prefix] || strchr(path + prefix, '/')) return false;
    parse_int(path + prefix, parameter);
    return true;
}

static bool authenticate(struct call *call) {
    size_t size;
    struct error error;
    const char *token = http_bearer(call->request, &size);
    int code = token ? auth_verify(call->gateway->auth, token, size, clock_wall_ms(), &call->claims, &error) : -ENOENT;
    if (code == 0) return true;
    call->gateway->refused->value++;
    if (code == -ENOENT)
        http_problem(call->request, 401, "no_token", "Authorization: Bearer is missing", 0);
    else if (code == -ETIME)
        http_problem(call->request, 401, "token_expired", "the token has expired", 0);
    else
        http_problem(call->request, 401, "bad_token", "the token is not accepted", 0);
    return false;
}

/* What the page must know before it has a token. */
static void reply_page_config(struct gateway *gateway, struct http_request *request) {
    struct buffer body = {0};
    buffer_string(&body, "{\"ws_url\":");
    json_put_text(&body, gateway->settings.web_ws_url, strlen(gateway->settings.web_ws_url));
    buffer_string(&body, ",\"tile_url\":");
    json_put_text(&body, gateway->settings.web_tile_url, strlen(gateway->settings.web_tile_url));
    buffer_format(&body, ",\"radius_m\":%.10g}", service_settings(gateway->service)->radius_m);
    http_reply_json(request, 200, &body);
    buffer_free(&body);
}

/* allowed: the methods that the path knows; none: there is no such path. */
static void reply_unknown(struct gateway *gateway, struct http_request *request, const char *allowed) {
    const char *path = http_path(request);
    if (*allowed)
        http_bad_method(request, allowed);
    else if (strcmp(http_method(request), "GET") == 0 && strncmp(path, "/v1/", 4) != 0 && *gateway->settings.web_dir)
        http_reply_file(request, gateway->settings.web_dir, path);
    else
        http_problem(request, 404, "no_such_path", "there is nothing here", 0);
}

static void handle(void *context, struct http_request *request) {
    struct gateway *gateway = context;
    struct call call = {.gateway = gateway, .request = request};
    const char *method = http_method(request), *path = http_path(request);
    char allowed[64] = "";

    if (strcmp(method, "GET") == 0 && strcmp(path, "/v1/config") == 0) {
        reply_page_config(gateway, request);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(ROUTES); i++) {
        if (!match(ROUTES[i].path, path, &call.parameter)) continue;
        if (strcmp(method, ROUTES[i].method) != 0) {
            size_t length = strlen(allowed);
            snprintf(allowed + length, sizeof allowed - length, "%s%s", length ? ", " : "", ROUTES[i].method);
            continue;
        }
        if (!copies_ready(gateway->copies))
            http_problem(request, 503, "starting", "the gateway is still reading profiles and sharing", RETRY_AFTER_S);
        else if (!authenticate(&call))
            return;
        else if (strchr(ROUTES[i].path, '{') && call.parameter < 0)
            http_problem(request, 400, "bad_user", "the path must end in a user id, a whole number from 0", 0);
        else
            ROUTES[i].handle(&call);
        return;
    }
    reply_unknown(gateway, request, allowed);
}

/* ---- the daemon ---- */

static void copies_are_ready(void *context) {
    struct gateway *gateway = context;
    service_ready(gateway->service, "copies", true);
}

static void broker_seen(void *context, bool up, const char *reason) {
    struct gateway *gateway = context;
    (void)reason; /* the daemon's condition "kafka" says it */
    service_ready(gateway->service, "producer", up);
}

static int start_kafka(struct gateway *gateway, const struct topics_shape *shape, struct error *error) {
    struct service *service = gateway->service;
    int result = kafka_producer_new(
        &(struct kafka_producer_options){
            .loop = service_loop(service),
            .settings = service_kafka(service),
            .timeout_ms = (int)gateway->settings.produce_timeout_ms,
            .context = gateway,
            .on_delivered = write_delivered,
            .on_broker = broker_seen,
        },
        &gateway->producer, error);
    if (result) return result;
    return copies_new(
        &(struct copies_options){
            .loop = service_loop(service),
            .settings = service_kafka(service),
            .data_dir = service_settings(service)->data_dir,
            .partitions = shape->partitions[TOPIC_SPACE_USERS],
            .log = service_log(service),
            .metrics = service_metrics(service),
            .dead_letters = gateway->producer,
            .context = gateway,
            .on_ready = copies_are_ready,
            .on_sharing = sharing_noticed,
        },
        &gateway->copies, error);
}

static int start_peers(struct gateway *gateway, const struct topics_shape *shape, struct error *error) {
    struct service *service = gateway->service;
    struct peers_options options = {
        .loop = service_loop(service),
        .settings = service_kafka(service),
        .group = gateway->settings.router_group,
        .topic = &TOPIC_LOCATIONS,
        .partitions = shape->partitions[TOPIC_SPACE_USERS],
        .token = service_settings(service)->peer_token,
    };
    int result = peers_new(&options, &gateway->routers, error);
    if (result) return result;
    options.group = gateway->settings.history_group;
    return peers_new(&options, &gateway->sinks, error);
}

static int start_server(struct gateway *gateway, struct error *error) {
    return http_server_new(
        &(struct http_server_options){
            .loop = service_loop(gateway->service),
            .listen = gateway->settings.listen,
            .max_body = (size_t)gateway->settings.max_body,
            .max_connections = (unsigned)gateway->settings.max_connections,
            .reuse_port = true,
            .context = gateway,
            .handle = handle,
        },
        &gateway->server, error);
}

static void gateway_free(void *state) {
    struct gateway *gateway = state;
    if (!gateway) return;
    loop_timer_free(gateway->drain_timer);
    loop_timer_free(gateway->second);
    /* The producer first: it tells every write its fate while their requests still exist. */
    kafka_producer_free(gateway->producer, PRODUCER_FLUSH_MS);
    sharing_give_up(gateway);
    peers_free(gateway->routers);
    peers_free(gateway->sinks);
    http_server_free(gateway->server);
    copies_free(gateway->copies);
    buffer_free(&gateway->record);
    free(gateway);
}

static int gateway_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    struct metrics *metrics = service_metrics(service);
    struct gateway *gateway = mem_alloc(sizeof *gateway);
    *gateway = (struct gateway){
        .service = service,
        .settings = *(const struct ingest_settings *)INGEST_SECTION.values,
        .reports = metrics_counter(metrics, "starling_ingest_reports_total", "Reports that Kafka acknowledged.", NULL),
        .refused = metrics_counter(metrics, "starling_ingest_refused_total",
                                   "Requests refused for their token or their reports.", NULL),
        .commands = metrics_counter(metrics, "starling_ingest_friend_commands_total",
                                    "Friend commands that Kafka acknowledged.", NULL),
        .second = loop_timer_new(service_loop(service), SECOND_MS, SECOND_MS, sharing_second, gateway),
    };
    int result = service_auth(service, &gateway->auth, error);
    if (result == 0) result = start_kafka(gateway, shape, error);
    if (result == 0) result = start_peers(gateway, shape, error);
    if (result == 0) result = start_server(gateway, error);
    if (result) {
        gateway_free(gateway);
        return result;
    }
    *state = gateway;
    return 0;
}

static void drain_step(void *context) {
    struct gateway *gateway = context;
    if (http_server_pending(gateway->server) && ++gateway->drain_ticks < DRAIN_MAX_TICKS) return;
    service_finished(gateway->service);
}

static void gateway_drain(void *state) {
    struct gateway *gateway = state;
    http_server_quiesce(gateway->server);
    gateway->drain_timer = loop_timer_new(service_loop(gateway->service), 0, DRAIN_STEP_MS, drain_step, gateway);
}

static const char *const CONDITIONS[] = {"copies", "producer", NULL};

static const struct topic *const NEEDED[] = {&TOPIC_LOCATIONS, &TOPIC_FRIEND_COMMANDS, &TOPIC_PROFILES, &TOPIC_SHARING};
static const struct topic_list TOPICS = {NEEDED, ARRAY_SIZE(NEEDED)};

const struct service_definition INGEST_SERVICE = {
    .name = "starling-ingest",
    .ops_listen = "127.0.0.1:9110",
    .section = &INGEST_SECTION,
    .topics = &TOPICS,
    .conditions = CONDITIONS,
    .start = gateway_start,
    .drain = gateway_drain,
    .free = gateway_free,
};
