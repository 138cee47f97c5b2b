#include "ws/internal.h"

#include "base/mem.h"

enum { IDLE_LEAST_MS = 500 /* a handshake that is on its way is not idle */ };

static bool is_older(const struct hub *hub, const struct ws_connection *connection, uint64_t ms) {
    return connection && connection->since + ms <= uv_now(hub->loop);
}

struct ws_connection *hub_idlest(const struct hub *hub) {
    struct ws_connection *idle[] = {hub->handshaking.first, hub->closing.first, hub->finishing.first}, *idlest = NULL;
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (idle[i] && (!idlest || idle[i]->since < idlest->since)) idlest = idle[i];
    return is_older(hub, idlest, IDLE_LEAST_MS) ? idlest : NULL;
}

static void hub_tick(void *context) {
    struct hub *hub = context;
    while (is_older(hub, hub->handshaking.first, hub->handshake_ms)) {
        hub->counts.late++;
        connection_kill(hub->handshaking.first);
    }
    while (hub->ping_ms && is_older(hub, hub->open.first, hub->ping_ms)) {
        struct ws_connection *connection = hub->open.first;
        if (!connection->pinged) {
            connection_ping(connection);
            continue;
        }
        hub->counts.dead++;
        connection_kill(connection);
    }
    while (is_older(hub, hub->closing.first, HUB_CLOSE_MS)) connection_kill(hub->closing.first);
    while (is_older(hub, hub->finishing.first, HUB_FINISH_MS)) connection_kill(hub->finishing.first);
    if (hub->aged) hub->aged(hub->owner);
}

static void hub_end_some(void *context) {
    struct hub *hub = context;
    loop_idle_on(hub->ender, 0);
    while (hub->ending.first) connection_end(hub->ending.first);
}

void hub_start(struct hub *hub) {
    hub->tick = loop_timer_new(hub->loop, HUB_TICK_MS, HUB_TICK_MS, hub_tick, hub);
    hub->ender = loop_idle_new(hub->loop, hub_end_some, hub);
}

static void hub_finish(void *context) {
    struct hub *hub = context;
    if (hub->tick) {
        loop_timer_free(hub->tick);
        loop_idle_free(hub->ender);
        hub->tick = NULL;
        hub->ender = NULL;
    }
    if (hub->lws && !client_hub_finished(hub)) return;
    loop_idle_free(hub->finish);
    hub->finish = NULL;
    hub->closed(hub->closed_context);
}

void hub_shutdown(struct hub *hub, int code, loop_fn *closed, void *context) {
    hub->closed = closed;
    hub->closed_context = context;
    hub->finish = loop_idle_new(hub->loop, hub_finish, hub);
    while (hub->open.first) ws_close(hub->open.first, code, NULL);
    while (hub->handshaking.first) connection_kill(hub->handshaking.first);
    if (!hub->connections) loop_idle_on(hub->finish, 1);
}

void hub_release(struct hub *hub) {
    streams_free(hub->streams);
    tls_pair_free(hub->pair);
    buffer_free(&hub->answer);
    buffer_free(&hub->forwarded);
    free(hub->subprotocol);
    free(hub->origins);
}
