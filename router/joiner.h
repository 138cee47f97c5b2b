/* Nearby friends on an owner of partitions: makes presence, join, friend lists, friend commands, opt-outs and deliveries, and connects
 * them.
 *
 *     reports.c    locations: presence, join, outbox        relations.c  friendships: friend lists on disk
 *     overload.c   holds reports back when far behind       opting.c     sharing: consents, opt-outs
 *     telling.c    a join's result as deliveries            cap.c        friendships beyond the cap
 *     commands.c   friend commands, decided                 sending.c    everything that is produced, and its fate
 *     peer.c       questions of other processes             discover.c   users who share publicly
 *     near_pages.c who is near, for who has no session  notifying.c  that a friend came near, for who has no session
 *
 * Those that decide things (presence, join, friendship, graph, backlog, consents, excess, report_clock, approaches) know none of these.
 * Loop's thread.
 */
#ifndef ROUTER_JOINER_H
#define ROUTER_JOINER_H

#include "owner/settings.h"
#include "router/graph.h"
#include "router/settings.h"
#include "service/http.h"
#include "service/service.h"

struct joiner;

struct joiner_options {
    uv_loop_t *loop;
    struct log *log;
    struct metrics *registry;
    const struct service_settings *common;
    const struct router_settings *settings;
    const struct owner_settings *owning;
    const struct kafka_settings *kafka;
    const char *transactional_id; /* copied */
    int32_t partitions, routes;
    struct graph *graph; /* open; its callbacks call the functions below. Freed after the joiner. */
    void *context;
    void (*ready)(void *context, const char *condition, bool ready); /* "warm", "assigned", "restored" */
    void (*drained)(void *context);
    void (*failed)(void *context, const char *doing, const struct error *error); /* the process must end */
};

/* Sets *joiner also when it fails: the caller then frees the half-built joiner. */
int joiner_new(const struct joiner_options *options, struct joiner **joiner, struct error *error);
void joiner_free(struct joiner *joiner);  /* not while busy; NULL is fine */
void joiner_drain(struct joiner *joiner); /* the orderly end; drained is called when it is over */
bool joiner_busy(struct joiner *joiner);  /* begins no more work; true while worker threads are busy */

void joiner_second(struct joiner *joiner); /* once a second */
void joiner_tenth(struct joiner *joiner);  /* ten times a second */
void joiner_collect(struct joiner *joiner);
void joiner_peer(struct joiner *joiner, struct http_request *request);

bool joiner_whole(
    const struct joiner *joiner); /* it owns partitions, all of them are restored, and it is not about to end */

/* For the graph's callbacks. */
void joiner_friends_changed(struct joiner *joiner, const struct graph_change *change);
void joiner_friends_exceeded(struct joiner *joiner, int32_t partition, int64_t user, int64_t other, int64_t since,
                             int64_t offset);
void joiner_friends_damaged(struct joiner *joiner, int32_t partition, const struct error *error);

#endif
