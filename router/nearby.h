/* Nearby friends on an owner of partitions: presence, join, friend lists, friend commands, opt-outs and deliveries, and what
 * connects them.
 *
 *     reports.c    locations: presence, join, outbox        relations.c  friendships: friend lists on disk
 *     overload.c   what is not joined when far behind       opting.c     sharing: consents, opt-outs
 *     telling.c    a join's result as deliveries            cap.c        friendships beyond the cap
 *     commands.c   friend commands, decided                 sending.c    everything that is produced, and its fate
 *     peer.c       questions of other processes
 *
 * Those that decide things (presence, join, friendship, graph, backlog, consents, excess, report_clock) know none of these.
 * Loop's thread.
 */
#ifndef ROUTER_NEARBY_H
#define ROUTER_NEARBY_H

#include "router/graph.h"
#include "router/settings.h"
#include "service/http.h"
#include "service/service.h"

struct nearby;

struct nearby_options {
    uv_loop_t *loop;
    struct log *log;
    struct metrics *registry;
    const struct service_settings *common;
    const struct router_settings *settings;
    const struct kafka_settings *kafka;
    const char *transactional_id; /* copied */
    int32_t partitions, routes;
    struct graph *graph; /* open; its callbacks call the functions below. Freed after nearby. */
    void *context;
    void (*ready)(void *context, const char *condition, bool ready); /* "warm", "assigned", "restored" */
    void (*drained)(void *context);
    void (*failed)(void *context, const char *doing, const struct error *error); /* there is no going on */
};

/* *nearby is set also when this fails: half-built, to be freed. */
int nearby_new(const struct nearby_options *options, struct nearby **nearby, struct error *error);
void nearby_free(struct nearby *nearby);  /* not while busy; NULL is fine */
void nearby_drain(struct nearby *nearby); /* the orderly end; drained is called when it is over */
bool nearby_busy(struct nearby *nearby);  /* begins nothing any more; whether worker threads are still at it */

void nearby_second(struct nearby *nearby); /* once a second */
void nearby_tenth(struct nearby *nearby);  /* ten times a second */
void nearby_collect(struct nearby *nearby);
void nearby_peer(struct nearby *nearby, struct http_request *request);

bool nearby_whole(const struct nearby *nearby); /* it owns partitions, all of them are restored, and it is not about to end */

/* The graph's callbacks. */
void nearby_friends_changed(struct nearby *nearby, int64_t user, int64_t other, bool made);
void nearby_friends_exceeded(struct nearby *nearby, int32_t partition, int64_t user, int64_t other, int64_t since,
                             int64_t offset);
void nearby_friends_damaged(struct nearby *nearby, int32_t partition, const struct error *error);

#endif
