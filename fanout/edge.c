/* The edge as a daemon: it runs the modules of this folder and the screens' products, which edge_parts.c makes and connects.
 *
 *     phone ----> phones.c ----> a screen ----> Kafka
 *           <---- sessions.c <-- a screen <---- deliveries.c <---- deliveries
 *
 *     routes.c    which routes this process has       door.c     who is let in, and when not
 *     screens.c   which screens there are
 *
 * Everything: the loop's thread.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/programs.h"
#include "fanout/edge_private.h"
#include "fanout/fanout.h"
#include "service/http_origin.h"
#include "ws/ws.h"

enum { TICK_MS = 10, DRAIN_STEP_MS = 20 };

static void tick(void *context) {
    struct edge *edge = context;
    door_look(edge->door, TICK_MS);
    phones_check_keys(edge->phones);
    sessions_tick(edge->sessions);
    if (!edge->clock.stream) SCREENS_CALL(&edge->screens, expire);
    sessions_flush_ready(edge->sessions);
}

/* ---- the beginning ---- */

static void edge_free(void *state) {
    struct edge *edge = state;
    if (!edge) return;
    loop_timer_free(edge->tick);
    loop_timer_free(edge->drain);
    edge_free_parts(edge);
    free(edge);
}

static int edge_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    struct edge *edge = MEM_NEW(&(struct edge){
        .service = service,
        .settings = *(const struct fanout_settings *)FANOUT_SECTION.values,
        .shape = *shape,
        .clock.stream = service_settings(service)->clock == SERVICE_CLOCK_STREAM,
    });
    int result = edge_make_parts(edge, error);
    if (result) {
        edge_free(edge);
        return result;
    }
    edge->tick = loop_timer_new(service_loop(service), TICK_MS, TICK_MS, tick, edge);
    *state = edge;
    return 0;
}

/* Refuses proxies that cannot be read, and a certificate that cannot be used before Kafka is asked for anything: most likely its files belong to somebody else. */
static int edge_check(const struct service_settings *common, struct error *error) {
    const struct fanout_settings *settings = FANOUT_SECTION.values;
    struct http_proxies *proxies;
    int code = http_proxies_new(settings->trusted_proxies, &proxies, error);
    if (code) return error_prefix(error, code, "edge.trusted.proxies");
    http_proxies_free(proxies);
    return *settings->tls_certificate ? ws_certificate_check(settings->tls_certificate, settings->tls_key, error) : 0;
}

static void edge_reload(void *state) {
    struct edge *edge = state;
    struct error error;
    if (phones_renew(edge->phones, &error))
        log_error(service_log(edge->service), "the certificate stays as it was", LOG_TEXT("reason", error.text));
    else if (*edge->settings.tls_certificate)
        log_info(service_log(edge->service), "the certificate was read again",
                 LOG_INT("good_for_s", ws_server_expires(phones_server(edge->phones)) - clock_wall_ms() / 1000));
}

/* ---- the end ---- */

static void closed(void *context) {
    struct edge *edge = context;
    edge->closing = CLOSED;
    service_finished(edge->service);
}

static void close_server(struct edge *edge) {
    if (edge->closing != OPEN) return;
    edge->closing = CLOSING;
    phones_shutdown(edge->phones, closed, edge);
}

static void end_drain(struct edge *edge) {
    loop_timer_free(edge->drain);
    edge->drain = NULL;
}

/* How many sessions should have been told by now to go: an even rate over edge.drain.s. */
static size_t drain_due(const struct edge *edge) {
    int64_t duration_ms = edge->settings.drain_s * 1000, elapsed = clock_coarse_ms() - edge->drain_began_ms;
    if (elapsed >= duration_ms) return SIZE_MAX;
    return (size_t)((double)edge->drain_sessions * (double)elapsed / (double)duration_ms) + 1;
}

static void drain_step(void *context) {
    struct edge *edge = context;
    size_t most = drain_due(edge);
    for (struct session *session = sessions_first(edge->sessions); session; session = session_next(session)) {
        if (session_leaving(session)) continue;
        if (edge->drain_told >= most) return;
        edge->drain_told++;
        session_leave(edge->sessions, session, WS_RESTART, "draining", door_delay(edge->door, 0));
    }
    end_drain(edge);
    close_server(edge);
}

/* No new sessions; those that are here are moved over at an even rate. */
static void edge_drain(void *state) {
    struct edge *edge = state;
    if (edge->draining) return;
    edge->draining = true;
    door_update(edge->door);
    edge->drain_began_ms = clock_coarse_ms();
    edge->drain_sessions = sessions_count(edge->sessions);
    edge->drain = loop_timer_new(service_loop(edge->service), 0, DRAIN_STEP_MS, drain_step, edge);
}

/* A failure may end the process before its drain is through: connections are closed all the same before they are freed. */
static bool edge_busy(void *state) {
    struct edge *edge = state;
    edge->draining = true;
    end_drain(edge);
    close_server(edge);
    bool asking = routes_end(edge->routes);
    return asking || edge->closing != CLOSED;
}

static const char *const CONDITIONS[] = {"copies", "routes", "listener", NULL};

const struct service_definition FANOUT_SERVICE = {
    .name = "starling-fanout",
    .ops_listen = "127.0.0.1:9130",
    .section = &FANOUT_SECTION,
    .more_sections = SCREEN_SECTIONS,
    .uses = &PROGRAM_FANOUT.uses,
    .conditions = CONDITIONS,
    .check = edge_check,
    .start = edge_start,
    .reload = edge_reload,
    .drain = edge_drain,
    .busy = edge_busy,
    .free = edge_free,
};
