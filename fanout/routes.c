/* Routes: the partitions of deliveries that this process reads. A session has one of them; it changes only when the
 * partition was really lost. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fanout/edge.h"

enum { ASK_TIMEOUT_MS = 10000, REJOIN_SPREAD_MS = 1000 };

bool routes_has(const struct edge *edge, int32_t route) {
    for (size_t i = 0; i < edge->route_count; i++) {
        if (edge->routes[i] == route) return true;
    }
    return false;
}

int32_t routes_choose(struct edge *edge) {
    return edge->route_count ? edge->routes[edge->next_route++ % edge->route_count] : ROUTE_NONE;
}

void routes_revoked(void *context, bool lost) {
    struct edge *edge = context;
    (void)lost; /* nothing is committed: deliveries are the state of sessions, and those stay */
    edge->assigned = false;
    service_ready(edge->service, "routes", false);
}

/* A route that was ours is read on from where it was, a new one from its end: no session has listened there yet. The end is
 * asked for before any session uses the route, or the answer to its JOIN might be written before the reading starts. */
static int read_routes(struct edge *edge, const struct kafka_position *owned, size_t count, struct error *error) {
    struct kafka_position *positions = mem_alloc((count + 1) * sizeof *positions);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        int64_t low, high;
        positions[i] = owned[i];
        positions[i].offset = kafka_consumer_position(edge->consumer, owned[i].topic, owned[i].partition);
        if (routes_has(edge, owned[i].partition) && positions[i].offset >= 0) continue;
        result = kafka_consumer_watermarks(edge->consumer, owned[i].topic, owned[i].partition, &low, &high, ASK_TIMEOUT_MS, error);
        positions[i].offset = high;
    }
    if (result == 0) result = kafka_consumer_read(edge->consumer, positions, count, error);
    free(positions);
    return result;
}

void routes_assigned(void *context, const struct kafka_position *owned, size_t count) {
    struct edge *edge = context;
    struct error error;
    if (read_routes(edge, owned, count, &error)) {
        service_fail(edge->service, error.text);
        return;
    }
    edge->routes = mem_resize(edge->routes, count + 1, sizeof *edge->routes);
    for (size_t i = 0; i < count; i++) edge->routes[i] = owned[i].partition;
    edge->route_count = count;
    edge->assigned = true;
    edge->metrics.routes->value = (double)count;
    log_info(service_log(edge->service), "routes assigned", LOG_INT("count", (int64_t)count));

    int64_t now = clock_wall_ms();
    for (struct session *session = edge->sessions; session; session = session->next) {
        if (!session->greeted || routes_has(edge, session->route)) continue;
        session->route = routes_choose(edge);
        session->rejoin_ms = now + 1 + random() % REJOIN_SPREAD_MS;
        session_schedule(edge, session);
    }
    service_ready(edge->service, "routes", count > 0);
}
