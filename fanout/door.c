/* The door: whether new phones are let in, and when those are to come back who are sent away.
 *
 *     closed    no route, copies incomplete, draining; or crowded, and another process listens on the same port
 *     open      those beyond what the process can take are told when to come back, and closed with 1013
 *     crowded   edge.max.sessions are here, or the loop is behind by more than edge.max.loop.lag.ms
 */
#include <math.h>
#include <string.h>

#include "fanout/edge.h"

enum {
    LOOK_MS = 200, /* and up to as much again: processes that share a port must not look in step */
    LAG_MEAN_MS = 1000,
    FULL_LEAST_MS = 5000, /* somebody must have gone before there is room */
    BEHIND_LEAST_MS = 2000,
    STORM_LEAST_MS = 200,
    OPEN_AGAIN_FIRST_MS = 500,
    OPEN_AGAIN_MOST_MS = 10000
};

/* Whoever is here stays: no descriptor left (the usual reason), no memory, or an address that is away may all be over soon. */
static void open_later(struct edge *edge, int code) {
    struct door *door = &edge->door;
    if (!door->wait_ms)
        log_error(service_log(edge->service), "the WebSocket listener cannot be opened",
                  LOG_TEXT("reason", strerror(-code)));
    door->wait_ms = door->wait_ms ? door->wait_ms * 2 : OPEN_AGAIN_FIRST_MS;
    if (door->wait_ms > OPEN_AGAIN_MOST_MS) door->wait_ms = OPEN_AGAIN_MOST_MS;
    door->again_ms = edge_clock() + door->wait_ms;
    service_ready(edge->service, "listener", false);
}

/* While the door was closed nobody was kept waiting: what held the loop up then (asking Kafka for a route's end, say) is no
 * reason to send people away now. */
static void lag_forget(struct door *door) {
    door->measured_ms = edge_clock();
    door->lag_ms = 0;
    door->behind = false;
}

void edge_accept(struct edge *edge) {
    bool accept = edge->server && edge->route_count && copies_ready(edge->copies) && !edge->draining && !edge->aside;
    if (!edge->server || (accept == edge->accepting && !edge->door.wait_ms)) return;
    if (accept && edge->door.wait_ms && edge_clock() < edge->door.again_ms) return;
    int code = ws_server_accept(edge->server, accept);
    if (code) {
        open_later(edge, code);
        return;
    }
    edge->accepting = accept;
    if (accept) lag_forget(&edge->door);
    if (edge->door.wait_ms) service_ready(edge->service, "listener", true);
    edge->door.wait_ms = 0;
}

/* How late the loop is, as a mean over about a second: one long turn alone is no overload. */
static void lag_measure(struct door *door, int64_t now, int64_t period_ms, int64_t max_ms) {
    int64_t elapsed = now - door->measured_ms, late = elapsed > period_ms ? elapsed - period_ms : 0;
    door->measured_ms = now;
    door->lag_ms += ((double)late - door->lag_ms) * fmin(1, (double)elapsed / LAG_MEAN_MS);
    door->behind = max_ms && door->lag_ms > (double)max_ms / (door->behind ? 2 : 1);
}

static bool is_crowded(const struct edge *edge) {
    size_t max = (size_t)edge->settings.max_sessions;
    /* Not open and closed again for each one who goes. */
    size_t room = edge->aside ? max - max / 50 : max;
    return edge->door.behind || edge->session_count >= room;
}

void door_look(struct edge *edge, int64_t period_ms) {
    struct door *door = &edge->door;
    int64_t now = edge_clock();
    lag_measure(door, now, period_ms, edge->settings.max_loop_lag_ms);
    if (now < door->look_ms || !edge->server) return;
    door->look_ms = now + LOOK_MS + chance_next(&door->chance) % LOOK_MS;
    edge->metrics.loop_lag->value = door->lag_ms / 1000;
    edge->aside = is_crowded(edge) && ws_server_shared(edge->server);
    edge_accept(edge);
}

int64_t door_delay(struct edge *edge, int64_t least_ms) {
    return admission_delay(&edge->door.admission, edge_clock(), least_ms, chance_next(&edge->door.chance));
}

/* How long somebody who is not let in now has to stay away at least, and why; 0: is let in. */
static int64_t refusal(struct edge *edge, struct metric **reason) {
    if (edge->session_count >= (size_t)edge->settings.max_sessions) {
        *reason = edge->metrics.refused_full;
        return FULL_LEAST_MS;
    }
    if (edge->door.behind) {
        *reason = edge->metrics.refused_behind;
        return BEHIND_LEAST_MS;
    }
    *reason = edge->metrics.refused_storm;
    return admission_take(&edge->door.admission, edge_clock()) ? 0 : STORM_LEAST_MS;
}

bool door_admits(struct edge *edge, struct ws_connection *connection) {
    struct metric *reason;
    int64_t least_ms = refusal(edge, &reason);
    if (!least_ms) return true;
    reason->value++;
    frame_reconnect(&edge->frame, door_delay(edge, least_ms));
    ws_send(connection, &edge->frame);
    ws_close(connection, WS_OVERLOADED, "overloaded");
    return false;
}

void door_start(struct edge *edge) {
    int64_t now = edge_clock();
    edge->door.measured_ms = now;
    edge->door.chance = chance_new();
    admission_init(&edge->door.admission, (double)edge->settings.hello_rate, now);
}
