#include "fanout/door.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/chance.h"
#include "base/clock.h"
#include "base/mem.h"
#include "fanout/admission.h"
#include "fanout/edge_private.h"
#include "fanout/frames.h"

enum {
    LOOK_MS = 200, /* and up to as much again: processes that share a port must not look in step */
    LAG_MEAN_MS = 1000,
    FULL_LEAST_MS = 5000, /* somebody must have gone before there is room */
    BEHIND_LEAST_MS = 2000,
    STORM_LEAST_MS = 200,
    OPEN_AGAIN_FIRST_MS = 500,
    OPEN_AGAIN_MOST_MS = 10000
};

struct door {
    struct edge *edge;
    struct ws_server *server; /* NULL: not there yet */
    struct admission admission;
    int64_t measured_ms, look_ms; /* clock_coarse_ms: the last, the next */
    double lag_ms;
    bool behind;
    bool accepting;
    bool aside;                /* not accepting for being crowded, as others of the same port do */
    int64_t wait_ms, again_ms; /* before the listener is tried again, and when; wait_ms 0: it could be opened */
    struct chance chance;
    struct {
        struct metric *full, *behind, *storm, *lag;
    } metrics;
};

/* The phones that are here stay: no descriptor left (the usual reason), no memory, or an address that is away may all be over
 * soon. */
static void open_later(struct door *door, int code) {
    struct service *service = door->edge->service;
    if (!door->wait_ms)
        log_error(service_log(service), "the WebSocket listener cannot be opened", LOG_TEXT("reason", strerror(-code)));
    door->wait_ms = door->wait_ms ? door->wait_ms * 2 : OPEN_AGAIN_FIRST_MS;
    if (door->wait_ms > OPEN_AGAIN_MOST_MS) door->wait_ms = OPEN_AGAIN_MOST_MS;
    door->again_ms = clock_coarse_ms() + door->wait_ms;
    service_ready(service, "listener", false);
}

/* While the door was closed nobody was kept waiting: what held the loop up then is no reason to send people away now. */
static void lag_forget(struct door *door) {
    door->measured_ms = clock_coarse_ms();
    door->lag_ms = 0;
    door->behind = false;
}

/* It could serve a new one. */
static bool wants_phones(const struct edge *edge) {
    return routes_count(edge->routes) && user_copies_ready(edge->copies) && !edge->draining;
}

void door_update(struct door *door) {
    if (!door->server) return;
    bool accept = !door->aside && wants_phones(door->edge);
    if (accept == door->accepting && !door->wait_ms) return;
    if (accept && door->wait_ms && clock_coarse_ms() < door->again_ms) return;
    int code = ws_server_accept(door->server, accept);
    if (code) {
        open_later(door, code);
        return;
    }
    door->accepting = accept;
    if (accept) lag_forget(door);
    if (door->wait_ms) service_ready(door->edge->service, "listener", true);
    door->wait_ms = 0;
}

void door_attach(struct door *door, struct ws_server *server) {
    door->server = server;
    door->accepting = true;
    door_update(door);
}

/* How late the loop is, as a mean over about a second: one long turn alone is no overload. */
static void lag_measure(struct door *door, int64_t now, int64_t period_ms, int64_t max_ms) {
    int64_t elapsed = now - door->measured_ms, late = elapsed > period_ms ? elapsed - period_ms : 0;
    door->measured_ms = now;
    door->lag_ms += ((double)late - door->lag_ms) * fmin(1, (double)elapsed / LAG_MEAN_MS);
    door->behind = max_ms && door->lag_ms > (double)max_ms / (door->behind ? 2 : 1);
}

static bool is_crowded(const struct door *door) {
    size_t max = (size_t)door->edge->settings.max_sessions;
    /* Not open and closed again for each one who goes. */
    size_t room = door->aside ? max - max / 50 : max;
    return door->behind || sessions_count(door->edge->sessions) >= room;
}

void door_look(struct door *door, int64_t period_ms) {
    int64_t now = clock_coarse_ms();
    lag_measure(door, now, period_ms, door->edge->settings.max_loop_lag_ms);
    if (now < door->look_ms || !door->server) return;
    door->look_ms = now + LOOK_MS + chance_next(&door->chance) % LOOK_MS;
    door->metrics.lag->value = door->lag_ms / 1000;
    door->aside = is_crowded(door) && ws_server_shared(door->server);
    door_update(door);
}

int64_t door_delay(struct door *door, int64_t least_ms) {
    return admission_delay(&door->admission, clock_coarse_ms(), least_ms, chance_next(&door->chance));
}

int64_t door_delay_alone(struct door *door) { return FULL_LEAST_MS + chance_next(&door->chance) % FULL_LEAST_MS; }

/* A place is free, or was made so. */
static bool has_place(struct door *door) {
    struct sessions *sessions = door->edge->sessions;
    if (sessions_count(sessions) < (size_t)door->edge->settings.max_sessions) return true;
    struct session *waiting = sessions_waiting(sessions);
    if (waiting) session_leave(sessions, waiting, WS_OVERLOADED, "overloaded", door_delay(door, FULL_LEAST_MS));
    return waiting;
}

static void turn_away(struct door *door, struct ws_connection *connection, struct metric *reason, int64_t after_ms) {
    struct buffer *frame = sessions_frame(door->edge->sessions);
    if (reason) reason->value++; // else a budget has counted it
    service_refused(door->edge->service, "overloaded", ws_origin(connection));
    frame_reconnect(frame, after_ms);
    ws_send(connection, frame);
    ws_close(connection, WS_OVERLOADED, "overloaded");
}

struct session *door_admit(struct door *door, struct ws_connection *connection) {
    struct sessions *sessions = door->edge->sessions;
    struct session *session = NULL;
    if (!has_place(door))
        turn_away(door, connection, door->metrics.full, door_delay(door, FULL_LEAST_MS));
    else if (door->behind)
        turn_away(door, connection, door->metrics.behind, door_delay(door, BEHIND_LEAST_MS));
    else if (!(session = session_new(sessions, connection)))
        turn_away(door, connection, NULL, door_delay_alone(door));
    if (!session || admission_take(&door->admission, clock_coarse_ms())) return session;
    session_free(sessions, session);
    turn_away(door, connection, door->metrics.storm, door_delay(door, STORM_LEAST_MS));
    return NULL;
}

static struct metric *refused_counter(struct metrics *m, const char *labels) {
    return metrics_counter(m, "starling_edge_overloaded_total", "Connections sent away with 1013.", labels);
}

struct door *door_new(struct edge *edge) {
    struct metrics *m = service_metrics(edge->service);
    int64_t now = clock_coarse_ms();
    struct door *door = MEM_NEW(&(struct door){
        .edge = edge,
        .measured_ms = now,
        .chance = chance_new(),
        .metrics = {.full = refused_counter(m, "reason=\"full\""),
                    .behind = refused_counter(m, "reason=\"behind\""),
                    .storm = refused_counter(m, "reason=\"storm\""),
                    .lag = metrics_gauge(m, "starling_edge_loop_lag_seconds",
                                         "How late the event loop is, on the mean.", NULL)},
    });
    admission_init(&door->admission, (double)edge->settings.hello_rate, now);
    return door;
}

void door_free(struct door *door) { free(door); }
