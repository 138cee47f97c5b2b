/* Routes: the partitions of deliveries that this process reads. A session has one of them; it changes only when the
 * partition was really lost. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fanout/edge.h"

enum { ASK_TIMEOUT_MS = 2000, ASK_AGAIN_MS = 1000, REJOIN_SPREAD_MS = 1000 };

bool routes_has(const struct edge *edge, int32_t route) {
    for (size_t i = 0; i < edge->route_count; i++) {
        if (edge->routes[i] == route) return true;
    }
    return false;
}

int32_t routes_choose(struct edge *edge) {
    size_t used = edge->route_count < (size_t)edge->settings.routes ? edge->route_count : (size_t)edge->settings.routes;
    return used ? edge->routes[edge->next_route++ % used] : ROUTE_NONE;
}

static int by_number(const void *a, const void *b) {
    const int32_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void forget_assignment(struct edge *edge) {
    free(edge->assigned);
    edge->assigned = NULL;
    edge->assigned_count = 0;
    loop_timer_free(edge->assign_again);
    edge->assign_again = NULL;
}

void routes_free(struct edge *edge) {
    forget_assignment(edge);
    free(edge->routes);
}

/* Nothing is committed, deliveries are the state of sessions, and those stay: most routes come back in a moment. */
void routes_revoked(void *context, bool lost) {
    struct edge *edge = context;
    (void)lost;
    forget_assignment(edge);
    service_ready(edge->service, "routes", false);
}

void routes_given_up(void *context, const char *reason) {
    struct edge *edge = context;
    service_fail(edge->service, reason);
}

/* A route that was ours is read on from where it was, a new one from its end: no session has listened there yet. The
 * end is asked for before any session uses the route, or the answer to its JOIN might be written before the reading
 * starts. By time, as librdkafka's question for watermarks waits for a broker that is away whatever timeout it is given. */
static int read_routes(struct edge *edge, struct error *error) {
    size_t count = edge->assigned_count, asked = 0;
    struct kafka_position *positions = mem_alloc((count + 1) * sizeof *positions);
    for (size_t i = 0; i < count; i++) {
        struct kafka_position position = edge->assigned[i];
        position.offset = kafka_consumer_position(edge->consumer, position.topic, position.partition);
        bool known = routes_has(edge, position.partition) && position.offset >= 0;
        /* The new ones in front. */
        positions[i] = position;
        if (known) continue;
        positions[i] = positions[asked];
        positions[asked++] = position;
    }
    int result = kafka_consumer_offsets_at(edge->consumer, positions, asked, INT64_MAX, ASK_TIMEOUT_MS, error);
    if (result == 0) result = kafka_consumer_read(edge->consumer, positions, count, error);
    free(positions);
    return result;
}

/* Sessions whose route is gone get another one, and ask for their lists; with no route at all they are of no use
 * here. */
static void move_sessions(struct edge *edge) {
    int64_t now = edge_clock();
    for (struct session *session = edge->sessions; session; session = session->next) {
        if (!session->greeted || session->leaving || routes_has(edge, session->route)) continue;
        session->route = routes_choose(edge);
        if (session->route == ROUTE_NONE) {
            session_leave(edge, session, WS_RESTART, "no_route", door_delay(edge, 0));
        } else {
            session->rejoin_ms = now + 1 + chance_next(&edge->door.chance) % REJOIN_SPREAD_MS;
            session_schedule(edge, session);
        }
    }
}

/* Those that sessions may be on already in front, for these are what routes_choose gives out. Of new ones the lowest: a process
 * that comes last in the group leaves to each of the others the lower end of what it has. */
static void set_routes(struct edge *edge, const struct kafka_position *assigned, size_t count) {
    int32_t *routes = mem_alloc((count + 1) * sizeof *routes);
    size_t kept = 0, all;
    for (size_t i = 0; i < edge->route_count; i++) {
        for (size_t j = 0; j < count; j++)
            if (assigned[j].partition == edge->routes[i]) routes[kept++] = edge->routes[i];
    }
    all = kept;
    for (size_t j = 0; j < count; j++)
        if (!routes_has(edge, assigned[j].partition)) routes[all++] = assigned[j].partition;
    qsort(routes + kept, all - kept, sizeof *routes, by_number);
    free(edge->routes);
    edge->routes = routes;
    edge->route_count = all;
}

static void take_assignment(void *context) {
    struct edge *edge = context;
    struct error error;
    if (read_routes(edge, &error)) {
        log_warn(service_log(edge->service), "routes cannot be read yet", LOG_TEXT("reason", error.text));
        if (!edge->assign_again)
            edge->assign_again =
                loop_timer_new(service_loop(edge->service), ASK_AGAIN_MS, ASK_AGAIN_MS, take_assignment, edge);
        return;
    }
    size_t count = edge->assigned_count;
    set_routes(edge, edge->assigned, count);
    edge->metrics.routes->value = (double)count;
    forget_assignment(edge);
    if (count)
        log_info(service_log(edge->service), "routes assigned", LOG_INT("count", (int64_t)count));
    else
        log_warn(service_log(edge->service), "no route is left: there are more edges than partitions of deliveries");
    move_sessions(edge);
    edge_accept(edge);
    service_ready(edge->service, "routes", count > 0);
}

void routes_assigned(void *context, const struct kafka_position *owned, size_t count) {
    struct edge *edge = context;
    forget_assignment(edge);
    edge->assigned = mem_alloc((count + 1) * sizeof *owned);
    if (count) memcpy(edge->assigned, owned, count * sizeof *owned);
    edge->assigned_count = count;
    take_assignment(edge);
}
