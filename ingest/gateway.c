/* The gateway as a daemon: it starts the products, serves what they have put into the table of endpoints, and ends in order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "budget/network.h"
#include "event/programs.h"
#include "ingest/description.h"
#include "ingest/ingest.h"
#include "ingest/limits.h"
#include "ingest/owners.h"
#include "ingest/web_page.h"
#include "ingest/products.h"
#include "ingest/registry.h"
#include "ingest/registry_sync.h"
#include "ingest/settings.h"
#include "ingest/sign_in.h"
#include "ingest/text_filter.h"
#include "service/http_origin.h"
#include "service/listen.h"
#include "users/sign_ins.h"

enum { DRAIN_STEP_MS = 50, DRAIN_MAX_TICKS = 200, PRODUCER_FLUSH_MS = 5000, RETRY_AFTER_S = 2 };

struct gateway {
    struct service *service;
    struct ingest_settings settings;
    struct auth *auth;
    struct sign_ins *sign_ins; /* NULL: user ids are numbers */
    struct writer *writer;
    struct user_copies *copies;
    struct text_filter *filter;
    struct endpoints *endpoints;
    struct limits *limits;
    struct web_page *page;
    struct registry *registry;
    struct registry_sync *sync; /* NULL: there is no registry but our own */
    struct http_cors *cors;
    struct http_server *server;
    void *products[PRODUCTS_COUNT]; /* their states */
    struct loop_timer *drain_timer;
    int drain_ticks;
    struct metric *refused, *connections;
};

/* ---- requests ---- */

/* Fills the claims: 0, -EAGAIN (answered: it is not looked at now), or as auth_verify. */
static int verify(struct gateway *gateway, struct call *call, const char *token, size_t size) {
    struct error error;
    int64_t now_ms = clock_wall_ms();
    int code = auth_recall(gateway->auth, token, size, now_ms, &call->claims, &error);
    if (code != -ENOENT) return code;
    if (!limits_verify(gateway->limits, call)) return -EAGAIN;
    code = auth_verify(gateway->auth, token, size, now_ms, &call->claims, &error);
    if (code == -EACCES) limits_bad_token(gateway->limits, call);
    return code;
}

/* The same, or -ENOENT: there is no token. */
static int look_at_token(struct gateway *gateway, struct call *call, const struct endpoint *endpoint) {
    size_t size;
    struct buffer password = {0};
    const char *token = http_bearer(call->request, &size);
    if (!token && endpoint && endpoint->needs == NEEDS_PASSWORD)
        token = http_basic_password(call->request, &password, &size);
    int code = token ? verify(gateway, call, token, size) : -ENOENT;
    buffer_free(&password);
    return code;
}

/* Says so in the log. code: a literal. */
static void refuse(struct gateway *gateway, const struct call *call, unsigned status, const char *code,
                   const char *detail) {
    service_refused(gateway->service, code, network_of_address(call->address));
    http_problem(call->request, status, code, detail, 0);
}

/* True: the token was good. Answers if not. */
static bool authenticated(struct gateway *gateway, const struct call *call, int code) {
    if (code == 0) return true;
    gateway->refused->value++;
    if (code == -ENOENT)
        refuse(gateway, call, 401, "no_token", "Authorization: Bearer is missing");
    else if (code == -ETIME)
        refuse(gateway, call, 401, "token_expired", "the token has expired");
    else
        refuse(gateway, call, 401, "bad_token", "the token is not accepted");
    return false;
}

/* True: the caller may use the endpoint. Answers if not. */
static bool may(struct gateway *gateway, enum needs needs, const struct call *call) {
    if ((needs == NEEDS_USER || needs == NEEDS_PASSWORD) && call->claims.user < 0)
        refuse(gateway, call, 403, "not_a_user", "the token names no user");
    else if (needs == NEEDS_GATEWAY && !call->claims.gateway)
        refuse(gateway, call, 403, "gateways_only", "only a token with scope gateway may do this");
    else if (needs == NEEDS_MODERATOR && (!call->claims.moderator || call->claims.user < 0))
        refuse(gateway, call, 403, "moderators_only", "only a user's token with scope moderator may do this");
    else
        return true;
    return false;
}

/* Reports of places are no changes: they need a token of any kind, and have a budget of their own. */
static bool is_change(const struct endpoint *endpoint) {
    return endpoint->needs == NEEDS_USER && strcmp(endpoint->method, "GET") != 0;
}

static bool may_change(struct gateway *gateway, const struct call *call) {
    uint64_t network = network_of_address(call->address); // the call is gone once it is refused
    bool may = limits_change(gateway->limits, call);
    if (!may) service_refused(gateway->service, "too_many_writes", network);
    return may;
}

/* The state of a request whose head is there. */
struct request_admission {
    struct call call;
    struct endpoint_match match;
};

/* It leads to no endpoint. */
static void answer_astray(struct gateway *gateway, struct http_request *request, const struct endpoint_match *match) {
    if (match->kind == MATCH_BAD_METHOD && !strcmp(http_method(request), "OPTIONS"))
        http_reply_options(request, match->allowed);
    else if (match->kind == MATCH_BAD_METHOD)
        http_bad_method(request, match->allowed);
    else if (!web_page_serve(gateway->page, request))
        http_problem(request, 404, "no_such_path", "there is nothing here", 0);
}

/* True: the endpoint is to be called. Answers if not. */
static bool may_serve(struct gateway *gateway, const struct call *call, int token, const struct endpoint_match *match) {
    enum needs needs = match->endpoint->needs;
    if (!match->ready)
        http_problem(call->request, 503, "starting", "the gateway is still reading what it answers from",
                     RETRY_AFTER_S);
    else if (needs != NEEDS_NOTHING && !authenticated(gateway, call, token))
        return false;
    else if (match->kind == MATCH_BAD_VALUE || (match->kind == MATCH_EXTERNAL && !gateway->sign_ins))
        http_problem(call->request, 400, match->wrong, match->error.text, 0);
    else
        return may(gateway, needs, call) && (!is_change(match->endpoint) || may_change(gateway, call));
    return false;
}

/* All that can be said without the body is said before it is read, so that nobody makes the gateway hold what is refused. */
static void admit(void *context, struct http_request *request) {
    struct gateway *gateway = context;
    struct request_admission *admission = http_state(request);
    struct call *call = &admission->call;
    *call = (struct call){.request = request,
                          .claims = {.user = -1},
                          .address = http_origin_network(request, limits_proxies(gateway->limits))};
    uint64_t network = network_of_address(call->address); // whoever is refused is gone afterwards
    endpoints_find(gateway->endpoints, request, &admission->match);
    int token = look_at_token(gateway, call, admission->match.endpoint);
    if (token == -EAGAIN || !limits_pass(gateway->limits, call, token == 0)) {
        service_refused(gateway->service, "too_many_requests", network);
        return;
    }
    if (!admission->match.endpoint)
        answer_astray(gateway, request, &admission->match);
    else if (may_serve(gateway, call, token, &admission->match))
        memcpy(call->values, admission->match.values, sizeof call->values);
}

static void call_endpoint(struct http_request *request) {
    const struct request_admission *admission = http_state(request);
    admission->match.endpoint->handle(admission->match.state, &admission->call);
}

/* Nothing is done in a user's name before the number is known to be the right one. Budgets count it already. */
static void handle(void *context, struct http_request *request) {
    const struct gateway *gateway = context;
    struct request_admission *admission = http_state(request);
    sign_in_settle(gateway->sign_ins, &admission->call, admission->match.endpoint->needs != NEEDS_NOTHING,
                   call_endpoint);
}

static void answered(void *context, const struct http_request *request, unsigned status) {
    struct gateway *gateway = context;
    const struct request_admission *admission = http_state(request);
    endpoints_count(gateway->endpoints, request, status);
    limits_answered(gateway->limits, request,
                    admission && admission->match.endpoint && is_change(admission->match.endpoint));
    write_answered(service_kafka(gateway->service)->tracer, request, endpoints_name(gateway->endpoints, request),
                   status);
}

static void collect(void *context) {
    struct gateway *gateway = context;
    gateway->connections->value = (double)http_server_connections(gateway->server);
}

/* ---- the daemon ---- */

static void copies_are_ready(void *context) {
    const struct gateway *gateway = context;
    service_ready(gateway->service, "copies", true);
}

static void sharing_changed(void *context, int64_t user, enum sharing_mode mode, int64_t offset) {
    const struct gateway *gateway = context;
    for (size_t i = 0; i < PRODUCTS_COUNT; i++)
        if (PRODUCTS[i]->sharing) PRODUCTS[i]->sharing(gateway->products[i], user);
}

static void blocks_changed(void *context, int64_t user) {
    const struct gateway *gateway = context;
    for (size_t i = 0; i < PRODUCTS_COUNT; i++)
        if (PRODUCTS[i]->blocks) PRODUCTS[i]->blocks(gateway->products[i], user);
}

static void profile_changed(void *context, int64_t user) {
    const struct gateway *gateway = context;
    for (size_t i = 0; i < PRODUCTS_COUNT; i++)
        if (PRODUCTS[i]->profile) PRODUCTS[i]->profile(gateway->products[i], user);
}

static int64_t machine_time(void *context) { return clock_wall_ms(); }

static int start_copies(struct gateway *gateway, const struct topics_shape *shape, struct error *error) {
    struct service *service = gateway->service;
    return user_copies_new(
        &(struct user_copies_options){
            .loop = service_loop(service),
            .settings = service_kafka(service),
            .data_dir = service_settings(service)->data_dir,
            .partitions = shape->partitions[TOPIC_SPACE_USERS],
            .log = service_log(service),
            .metrics = service_metrics(service),
            .dead_letters = writer_producer(gateway->writer),
            .context = gateway,
            .now = service_settings(service)->clock == SERVICE_CLOCK_WALL ? machine_time : NULL,
            .on_ready = copies_are_ready,
            .on_sharing = sharing_changed,
            .on_profile = profile_changed,
        },
        &gateway->copies, error);
}

static int start_products(struct gateway *gateway, const struct topics_shape *shape, struct error *error) {
    const struct product_options options = {
        .service = gateway->service,
        .shape = shape,
        .writer = gateway->writer,
        .copies = gateway->copies,
        .outcome_wait_ms = gateway->settings.outcome_wait_ms,
        .groups = product_groups(),
        .filter = gateway->filter,
        .endpoints = gateway->endpoints,
        .gateway = gateway,
        .blocks_changed = blocks_changed,
    };
    endpoints_add(gateway->endpoints, &SIGN_IN_ENDPOINTS, gateway->sign_ins, NULL, NULL);
    endpoints_add(gateway->endpoints, &DESCRIPTION_ENDPOINTS, NULL, NULL, NULL);
    gateway->registry = registry_new(service_settings(gateway->service)->topics_prefix);
    gateway->page = web_page_new(&gateway->settings, service_settings(gateway->service)->radius_m);
    endpoints_add(gateway->endpoints, &WEB_PAGE_ENDPOINTS, gateway->page, NULL, NULL);
    endpoints_add(gateway->endpoints, &REGISTRY_ENDPOINTS, gateway->registry, NULL, NULL);
    for (size_t i = 0; i < PRODUCTS_COUNT; i++) {
        int code = PRODUCTS[i]->start(&options, &gateway->products[i], error);
        if (code) return code;
    }
    return 0;
}

/* Asks from the loop's next turn on, once the gateway is the service's. */
static void start_sync(struct gateway *gateway) {
    const char *url = gateway->settings.registry_url;
    if (*url)
        gateway->sync = registry_sync_new(gateway->service, url, gateway->registry);
    else
        service_ready(gateway->service, "registry", true);
}

static int start_server(struct gateway *gateway, struct error *error) {
    const struct ingest_settings *settings = &gateway->settings;
    int code = http_cors_new(settings->cors_origins, &gateway->cors, error);
    if (code) return error_prefix(error, code, "ingest.cors.origins");
    service_tell_shared(gateway->service, "ingest.listen", settings->listen);
    return http_server_new(
        &(struct http_server_options){
            .loop = service_loop(gateway->service),
            .listen = settings->listen,
            .max_body = (size_t)settings->max_body,
            .max_connections = (unsigned)settings->max_connections,
            .times = {.head_s = (unsigned)settings->head_s,
                      .body_s = (unsigned)settings->body_s,
                      .reply_s = (unsigned)settings->reply_s,
                      .least_rate = (unsigned)settings->least_rate},
            .budgets = {.metrics = service_metrics(gateway->service),
                        .network_connections = settings->network_connections,
                        .request_bytes = settings->request_mb << 20,
                        .all_request_bytes = settings->requests_mb << 20,
                        .reply_bytes = settings->reply_mb << 20,
                        .all_reply_bytes = settings->replies_mb << 20},
            .proxies = limits_proxies(gateway->limits),
            .reuse_port = true,
            .gzip_least = (size_t)settings->gzip_least,
            .cors = gateway->cors,
            .state_size = sizeof(struct request_admission),
            .context = gateway,
            .admit = admit,
            .handle = handle,
            .answered = answered,
        },
        &gateway->server, error);
}

/* The producer first: it tells every write its fate while their requests still exist. Texts that a filter looks at are not written any more. */
static void gateway_free(void *state) {
    struct gateway *gateway = state;
    if (!gateway) return;
    loop_timer_free(gateway->drain_timer);
    text_filter_free(gateway->filter);
    sign_ins_stop(gateway->sign_ins);
    writer_free(gateway->writer, PRODUCER_FLUSH_MS);
    for (size_t i = 0; i < PRODUCTS_COUNT; i++) PRODUCTS[i]->stop(gateway->products[i]);
    http_server_free(gateway->server);
    http_cors_free(gateway->cors);
    for (size_t i = 0; i < PRODUCTS_COUNT; i++) PRODUCTS[i]->free(gateway->products[i]);
    sign_ins_free(gateway->sign_ins);
    user_copies_free(gateway->copies);
    endpoints_free(gateway->endpoints);
    limits_free(gateway->limits);
    web_page_free(gateway->page);
    registry_sync_free(gateway->sync);
    registry_free(gateway->registry);
    free(gateway);
}

static int gateway_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    struct metrics *metrics = service_metrics(service);
    struct gateway *gateway = MEM_NEW(&(struct gateway){
        .service = service,
        .settings = *(const struct ingest_settings *)INGEST_SECTION.values,
        .endpoints = endpoints_new(metrics),
        .refused = metrics_counter(metrics, "starling_ingest_refused_total",
                                   "Requests refused for their token or their reports.", NULL),
        .connections = metrics_gauge(metrics, "starling_ingest_connections", "Open HTTP connections.", NULL),
    });
    int code = service_auth(service, &gateway->auth, error);
    if (code == 0) code = limits_new(&gateway->settings, metrics, &gateway->limits, error);
    if (code == 0) code = writer_new(service, (int)gateway->settings.produce_timeout_ms, &gateway->writer, error);
    if (code == 0) code = start_copies(gateway, shape, error);
    if (code == 0) code = text_filter_new(service, &gateway->settings, &gateway->filter, error);
    int32_t partitions = shape->partitions[TOPIC_SPACE_USERS];
    if (code == 0) code = sign_ins_new(service, product_groups().feeds, partitions, &gateway->sign_ins, error);
    if (code == 0) code = start_products(gateway, shape, error);
    if (code == 0) code = start_server(gateway, error);
    if (code) {
        gateway_free(gateway);
        return code;
    }
    start_sync(gateway);
    metrics_on_collect(metrics, collect, gateway);
    *state = gateway;
    return 0;
}

static void gateway_reload(void *state) { text_filter_reload(((struct gateway *)state)->filter); }

static void drain_step(void *context) {
    struct gateway *gateway = context;
    if (http_server_pending(gateway->server) && ++gateway->drain_ticks < DRAIN_MAX_TICKS) return;
    service_finished(gateway->service);
}

static void drain_begin(void *context) {
    struct gateway *gateway = context;
    loop_timer_free(gateway->drain_timer);
    http_server_quiesce(gateway->server);
    gateway->drain_timer = loop_timer_new(service_loop(gateway->service), 0, DRAIN_STEP_MS, drain_step, gateway);
}

/* A balancer that has not looked at /readyz yet still sends requests. */
static void gateway_drain(void *state) {
    struct gateway *gateway = state;
    uint64_t notice_ms = (uint64_t)gateway->settings.drain_notice_s * 1000;
    if (notice_ms)
        gateway->drain_timer = loop_timer_new(service_loop(gateway->service), notice_ms, 0, drain_begin, gateway);
    else
        drain_begin(gateway);
}

/* Refuses settings with which a gateway would otherwise start, and answer everybody with 401 or 404. */
static int gateway_check(const struct service_settings *common, struct error *error) {
    const struct ingest_settings *settings = INGEST_SECTION.values;
    struct address address;
    struct http_cors *cors;
    struct http_proxies *proxies;
    int code = address_parse(settings->listen, &address, error);
    if (code) return error_prefix(error, code, "ingest.listen");
    if (settings->request_mb && settings->request_mb << 20 < settings->max_body)
        return error_set(error, -EINVAL, "ingest.request.mb must have room for ingest.max.body.bytes");
    if (!*common->auth_hs256_key_file && !*common->auth_rs256_public_key_file && !*common->auth_jwks_file &&
        !*common->auth_jwks_url)
        return error_set(error, -EINVAL,
                         "no key to check tokens with: set auth.jwks.url, auth.jwks.file, auth.hs256.key.file or "
                         "auth.rs256.public.key.file");
    // The provider also signs tokens for its other clients, which must not count here.
    if (*settings->oidc_issuer && (!*common->auth_audience || strcmp(common->auth_issuer, settings->oidc_issuer)))
        return error_set(
            error, -EINVAL,
            "with web.oidc.issuer, auth.issuer must be the same, and auth.audience be set, here and at the edges");
    code = http_cors_new(settings->cors_origins, &cors, error);
    if (code) return error_prefix(error, code, "ingest.cors.origins");
    http_cors_free(cors);
    code = http_proxies_new(settings->trusted_proxies, &proxies, error);
    if (code) return error_prefix(error, code, "ingest.trusted.proxies");
    http_proxies_free(proxies);
    code = text_filter_check(settings, error);
    return code ? code : web_page_check(settings, error);
}

static void gateway_cannot_serve(void *state, service_namer *name, void *context) {
    const struct gateway *gateway = state;
    for (size_t i = 0; i < PRODUCTS_COUNT; i++)
        if (PRODUCTS[i]->cannot_serve) PRODUCTS[i]->cannot_serve(gateway->products[i], name, context);
}

static bool gateway_busy(void *state) {
    const struct gateway *gateway = state;
    for (size_t i = 0; i < PRODUCTS_COUNT; i++)
        if (PRODUCTS[i]->busy && PRODUCTS[i]->busy(gateway->products[i])) return true;
    return false;
}

const struct service_definition INGEST_SERVICE = {
    .name = "starling-ingest",
    .ops_listen = "127.0.0.1:9110",
    .section = &INGEST_SECTION,
    .more_sections = PRODUCT_SECTIONS,
    .uses = &PROGRAM_INGEST.uses,
    .conditions = PRODUCT_CONDITIONS,
    .check = gateway_check,
    .start = gateway_start,
    .reload = gateway_reload,
    .drain = gateway_drain,
    .busy = gateway_busy,
    .free = gateway_free,
    .cannot_serve = gateway_cannot_serve,
};
