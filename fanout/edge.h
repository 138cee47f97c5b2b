/* The inside of the edge, shared by this folder's files: one struct edge a process, one struct session a phone. Nothing
 * outside includes it.
 *
 *     phone ----> phones.c ----> reports.c ----> locations
 *           <---- sessions.c <-- deliveries.c <- deliveries
 *
 *     edge.c        made, drained, freed; timers         routes.c      which routes this process has
 *     phones.c      connections, and what they say       reports.c     what Kafka is told of a session
 *     sessions.c    screens: frames, deadlines           deliveries.c  what routers say
 *     door.c        who is let in, and when not      optouts.c      who opts out leaves all screens
 *
 * Everything: the loop's thread.
 */
#ifndef FANOUT_EDGE_H
#define FANOUT_EDGE_H

#include <stddef.h>

#include "base/chance.h"
#include "base/map.h"
#include "copies/copies.h"
#include "deliver/envelope.h"
#include "event/delivery.h"
#include "fanout/admission.h"
#include "fanout/faces.h"
#include "fanout/frames.h"
#include "fanout/nearby.h"
#include "fanout/request.h"
#include "fanout/settings.h"
#include "fanout/wheel.h"
#include "kafka/producer.h"
#include "service/service.h"
#include "users/profiles.h"
#include "users/sharing_modes.h"
#include "ws/ws.h"

enum { ROUTE_NONE = -1 };

struct report {
    struct geo_point at;
    int64_t time;
    int32_t accuracy;
};

/* A phone on its socket. Owned by the edge; dies in on_close of its connection. */
struct session {
    /* What every delivery looks at: one cache line, up to the list's pending. */
    struct session *twin; /* the next session of the same user */
    int32_t route;
    bool greeted;     /* its hello was good: it is in the table of users */
    bool shares;      /* its user is opted in */
    bool leaving;     /* told to reconnect, or being closed */
    bool inactive;    /* its own last report is too old: its list is empty */
    bool paged;       /* the first page was sent */
    bool page_wanted; /* a page is to be sent as soon as the phone takes it */
    bool held;        /* held_report is to be produced at report_ms */
    struct nearby nearby;

    /* What a flush looks at. */
    struct session *ready_next, **ready_link; /* edge->ready, while it waits to be flushed */
    struct ws_connection *connection;
    struct wheel_timer deadline; /* on edge->deadlines: the nearest of the times below */
    int64_t flushed_ms;          /* edge_clock(), all times whose clock is not said; 0: none */
    int64_t slow_since_ms;
    int64_t token_expires_ms;
    int64_t rejoin_ms;
    int64_t report_ms;         /* its report is held back until then, or the next one is */
    struct wheel_timer expiry; /* on edge->expiries: when nearby_expire must look, or the session goes inactive */

    struct session *next, **link; /* edge->sessions */
    int64_t user;
    int64_t id; /* ms of the hello << 21 | random: rises, and nobody guesses two alike */
    int64_t opened_ms;
    int64_t first_page_ms;
    int64_t message_us;              /* clock_monotonic_us(): by then as many messages are allowed as it has said */
    struct nearby_cursor page_after; /* of the page that is wanted */
    int32_t accuracy;                /* of the latest report */
    unsigned errors;
    /* Its place counts once routers are told: they would not send whom it brings near again. */
    struct report held_report;
    bool joined;     /* a JOIN was produced since it opted in */
    bool unsent;     /* its latest report could not be produced */
    bool rostered;   /* a router has answered its JOIN */
    bool retried;    /* took the id after a winner's, once */
    bool superseded; /* says no QUIT */
};

struct edge_metrics {
    struct metric *sessions, *hellos, *reports, *unsent, *frames, *entries, *frame_bytes, *rejoins, *superseded, *slow,
        *refused_full, *refused_behind, *refused_storm, *loop_lag, *replaced, *handshakes_refused, *handshakes_late,
        *origins_refused, *dead, *floods, *errors, *items, *items_unknown, *items_malformed, *routes, *stream_time,
        *certificate;
    struct histogram *latency; /* from Kafka's time of the oldest location in a batch to the frames being written, s */
};

struct door {
    struct admission admission;
    int64_t measured_ms, look_ms; /* edge_clock(): the last, the next */
    double lag_ms;
    bool behind;
    int64_t wait_ms, again_ms; /* before the listener is tried again, and when; wait_ms 0: it could be opened */
    struct chance chance;
};

/* Who has opted out: optouts.c. */
struct optouts {
    struct map *waiting;  /* for the next pass over the sessions; keys only */
    struct map *users;    /* who are looked for in the one under way */
    struct session *next; /* to be looked at in it; NULL: none is under way */
    int64_t began_ms;     /* edge_clock() */
};

struct edge {
    struct service *service;
    struct fanout_settings settings;
    struct topics_shape shape;
    struct auth *auth;
    struct copies *copies; /* of the two: */
    struct sharing_modes *modes;
    struct profiles *profiles;
    struct faces *faces;
    struct lists *lists;
    struct pool *session_memory;
    struct kafka_producer *producer;
    struct kafka_consumer *consumer;
    struct ws_server *server;
    struct codec *codec;
    struct deliver_reader *batches;
    struct delivery_v1 *old_batches;
    struct buffer frame, record;
    struct session *sessions;
    struct session *unsettled; /* sessions_move: from here on moves of the other half may be pending */
    struct map *users;         /* user -> first of its sessions */
    struct map *ids;           /* session id -> session */
    size_t session_count, unsent_count;
    struct session *ready; /* dirty and quiet: to be flushed at the end of the batch */
    struct session **ready_tail;
    struct wheel deadlines, expiries;
    struct loop_timer *tick, *retry, *drain_timer;
    struct loop_idle *flusher, *hider;
    struct optouts optouts;
    int64_t drain_began_ms; /* edge_clock() */
    size_t drain_total, drain_told;
    struct door door;
    bool accepting, draining, shut;
    uint64_t message_floods;
    bool aside; /* not accepting for being crowded, as others of the same port do */

    int32_t *routes; /* partitions of deliveries that are ours, those in use first */
    size_t route_count, next_route;
    struct kafka_position
        *assigned; /* an assignment whose reading has not begun, because no broker said where it ends */
    size_t assigned_count;
    struct loop_timer *assign_again;

    int64_t stream_time; /* highest seen; clock=stream only */
    int64_t last_bad_batch_us, last_bad_item_us;
    struct edge_metrics metrics;
};

/* Now, by the clock of the protocol (wall or stream), ms. */
int64_t edge_now(const struct edge *edge);
void edge_expire(struct edge *edge); /* takes off what is inactive by edge_now, which has moved on */
/* For deadlines: ms that never go back, whatever happens to the machine's date. */
int64_t edge_clock(void);
int64_t edge_inactive_ms(const struct edge *edge);
double edge_radius(const struct edge *edge);

/* door.c */
void door_start(struct edge *edge);
void edge_accept(struct edge *edge);                     /* opens or closes it, as things are now */
void door_look(struct edge *edge, int64_t period_ms);    /* every period_ms, as far as the loop keeps to it */
int64_t door_delay(struct edge *edge, int64_t least_ms); /* when somebody who is sent away is to come back, in ms */
/* False: the connection was told so and is being closed. */
bool door_admits(struct edge *edge, struct ws_connection *connection);

/* routes.c */
void routes_assigned(void *edge, const struct kafka_position *owned, size_t count);
void routes_revoked(void *edge, bool lost);
void routes_given_up(void *edge, const char *reason); /* ends the process: only a new one can be a member again */
bool routes_has(const struct edge *edge, int32_t route);
int32_t routes_choose(struct edge *edge); /* ROUTE_NONE when there is none */
void routes_free(struct edge *edge);

/* deliveries.c */
void deliveries_records(void *edge, const struct kafka_record *records, size_t count);

/* phones.c: the server's callbacks. */
void phones_open(void *edge, struct ws_connection *connection);
void phones_message(void *edge, struct ws_connection *connection, const char *text, size_t size);
void phones_writable(void *edge, struct ws_connection *connection);
void phones_close(void *edge, struct ws_connection *connection, int code);

/* reports.c */
/* The phone's report: from now on or, if it is held back, later the session's own place, unless it is an older one. */
void report_produce(struct edge *edge, struct session *session, const struct report *report);
void report_latest(struct edge *edge, struct session *session); /* once more, or for the first time */
void report_rejoin(struct edge *edge, struct session *session); /* asks for the complete list */
void report_join_again(struct edge *edge, struct session *session, int64_t winner);
void report_quit(struct edge *edge, struct session *session);
void report_unsent(struct edge *edge, struct session *session, bool unsent);
void report_held(struct edge *edge, struct session *session); /* what is held back goes out now: it ends */
void report_due(struct edge *edge, struct session *session);  /* the time of one that was held back has come */
void report_keep(struct edge *edge, struct session *session); /* what is held back is its place, and nobody is told */
bool report_wanted(const struct edge *edge, const struct session *session); /* the user is opted in */
void reports_delivered(void *edge, void *session_id, int code, const struct topic *topic, int32_t partition,
                       int64_t offset);
void reports_retry(void *edge); /* a timer: what could not be produced, when a broker is there again */

/* optouts.c */
void optouts_start(struct edge *edge);
void optouts_end(struct edge *edge);
void optouts_add(struct edge *edge, int64_t user);
void optouts_remove(struct edge *edge, int64_t user);                  /* is in again */
void optouts_forget(struct edge *edge, const struct session *session); /* is about to be freed */
bool optouts_begin(struct edge *edge);                                 /* true: a pass, if one is due */
bool optouts_slice(struct edge *edge);                                 /* false: the pass is at its end */

/* sessions.c */
struct session *session_new(struct edge *edge, struct ws_connection *connection);
void session_free(struct edge *edge, struct session *session);
void sessions_free_all(struct edge *edge);
/* From now on it is the user's; takes an id and a route. */
void session_greet(struct edge *edge, struct session *session, int64_t user);
void session_renumber(struct edge *edge, struct session *session, int64_t id);
struct session *sessions_of(const struct edge *edge, int64_t user);  /* walk by ->twin */
static inline void session_prefetch(const struct session *session) { /* it is about to be flushed */
    for (size_t line = 0; line < offsetof(struct session, next); line += 64)
        __builtin_prefetch((const char *)session + line, 1);
}
void session_changed(struct edge *edge, struct session *session); /* nearby may have changed */
/* A friend's report, the same for all it is for. */
uint32_t sessions_move(struct edge *edge, const struct lists_move *move);
void session_moved(struct edge *edge, struct session *session);    /* its own place may have changed */
void session_answered(struct edge *edge, struct session *session); /* a Roster came */
void session_due(struct edge *edge, struct session *session);      /* a deadline has passed */
void session_expire(struct edge *edge, struct session *session);   /* somebody's report has become too old */
void session_schedule(struct edge *edge, struct session *session);
void session_send(struct edge *edge, struct session *session, size_t entries); /* edge->frame */
void session_send_error(struct edge *edge, struct session *session, const char *code, const char *message);
void session_send_page(struct edge *edge, struct session *session, struct nearby_cursor after);
void session_writable(struct edge *edge, struct session *session); /* the phone takes frames again */
/* Closes it; reconnect_ms < 0: not told to come back. */
void session_leave(struct edge *edge, struct session *session, int code, const char *reason, int64_t reconnect_ms);
void sessions_flush_ready(struct edge *edge);
void sessions_sharing(void *edge, int64_t user, enum sharing_mode mode, int64_t offset);

#endif
