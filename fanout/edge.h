/* The inside of the edge, shared by this folder's files: one struct edge a process, one struct session a phone. Nothing outside includes it.
 *
 *     edge.c        made, drained, freed; timers         routes.c      which routes this process has
 *     sessions.c    hello, reports, frames to the phone  deliveries.c  what routers say
 *
 * Everything: the loop's thread.
 */
#ifndef FANOUT_EDGE_H
#define FANOUT_EDGE_H

#include "base/map.h"
#include "copies/copies.h"
#include "event/codec.h"
#include "fanout/frames.h"
#include "fanout/nearby.h"
#include "fanout/request.h"
#include "fanout/settings.h"
#include "fanout/wheel.h"
#include "kafka/producer.h"
#include "service/service.h"
#include "ws/ws.h"

enum { ROUTE_NONE = -1 };

/* A phone on its socket. Owned by the edge; dies in on_close of its connection. */
struct session {
    struct ws_connection *connection;
    struct session *next, **link;             /* edge->sessions */
    struct session *ready_next, **ready_link; /* edge->ready, while it waits to be flushed */
    struct session *twin;                     /* the next session of the same user */
    int64_t user;
    int64_t id;                  /* ms of the hello << 21 | random: rises, and nobody guesses two alike */
    struct nearby nearby;
    struct wheel_timer deadline; /* on edge->deadlines: the nearest of the times below */
    struct wheel_timer expiry;   /* on edge->expiries: when nearby_expire must look, or the session itself goes inactive */
    int64_t opened_ms;           /* wall, all of these; 0: none */
    int64_t token_expires_ms;
    int64_t first_page_ms;
    int64_t flushed_ms;
    int64_t slow_since_ms;
    int64_t rejoin_ms;
    int32_t route;
    int32_t accuracy;
    unsigned errors;
    bool greeted;    /* its hello was good: it is in the table of users */
    bool joined;     /* a JOIN was produced since it opted in */
    bool unsent;     /* its latest report could not be produced */
    bool rostered;   /* a router has answered its JOIN */
    bool paged;      /* the first page was sent */
    bool retried;    /* took the id after a winner's, once */
    bool superseded; /* or never joined: says no QUIT */
    bool inactive;   /* its own last report is too old: its list is empty */
    bool leaving;    /* told to reconnect, or being closed */
};

struct edge_metrics {
    struct metric *sessions, *hellos, *reports, *unsent, *frames, *entries, *frame_bytes, *rejoins, *superseded, *slow, *errors,
        *items, *routes, *stream_time;
    struct histogram *latency; /* from Kafka's time of the oldest location in a batch to the frames being written, s */
};

struct edge {
    struct service *service;
    struct fanout_settings settings;
    struct topics_shape shape;
    struct auth *auth;
    struct copies *copies;
    struct kafka_producer *producer;
    struct kafka_consumer *consumer;
    struct ws_server *server;
    struct codec *codec;
    struct buffer frame, record;
    struct session *sessions;
    struct map *users; /* user -> first of its sessions */
    struct map *ids;   /* session id -> session */
    size_t session_count, unsent_count;
    struct session *ready; /* dirty and quiet: to be flushed at the end of the batch */
    struct session **ready_tail;
    struct wheel deadlines, expiries;
    struct loop_timer *tick, *retry, *drain_timer;
    struct loop_idle *flusher;
    size_t drain_slice;
    bool draining, shut;

    int32_t *routes; /* partitions of deliveries that are ours */
    size_t route_count, next_route;
    bool assigned;

    int64_t stream_time; /* highest seen; clock=stream only */
    int64_t last_bad_batch_us;
    struct edge_metrics metrics;
};

/* Now, by the clock of the protocol (wall or stream), ms. */
int64_t edge_now(const struct edge *edge);
int64_t edge_inactive_ms(const struct edge *edge);
double edge_radius(const struct edge *edge);

/* routes.c */
void routes_assigned(void *edge, const struct kafka_position *owned, size_t count);
void routes_revoked(void *edge, bool lost);
bool routes_has(const struct edge *edge, int32_t route);
int32_t routes_choose(struct edge *edge); /* ROUTE_NONE when there is none */

/* deliveries.c */
void deliveries_records(void *edge, const struct kafka_record *records, size_t count);

/* sessions.c: the server's callbacks ... */
void sessions_open(void *edge, struct ws_connection *connection);
void sessions_message(void *edge, struct ws_connection *connection, const char *text, size_t size);
void sessions_writable(void *edge, struct ws_connection *connection);
void sessions_close(void *edge, struct ws_connection *connection, int code);

/* ... and what the others do to sessions. */
struct session *sessions_of(const struct edge *edge, int64_t user); /* walk by ->twin */
void session_changed(struct edge *edge, struct session *session);   /* nearby may have changed: flush and expiry are arranged */
void session_rejoin(struct edge *edge, struct session *session);    /* asks for the complete list */
void session_join_again(struct edge *edge, struct session *session, int64_t winner);
void session_answered(struct edge *edge, struct session *session);  /* a Roster came */
void session_due(struct edge *edge, struct session *session);       /* a deadline has passed */
void session_expire(struct edge *edge, struct session *session);
void session_schedule(struct edge *edge, struct session *session);
void session_leave(struct edge *edge, struct session *session, int code, const char *reason, int64_t reconnect_ms); /* < 0: not said */
void session_unsent(struct edge *edge, struct session *session, bool unsent);
void session_produce_latest(struct edge *edge, struct session *session); /* after a failure to produce */
void sessions_flush_ready(struct edge *edge);
void sessions_sharing(void *edge, int64_t user, enum sharing_mode mode, int64_t offset);
void sessions_free_all(struct edge *edge);

#endif
