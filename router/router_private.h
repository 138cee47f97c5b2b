/* Shared by router.c (the daemon, its store, and its parts in time), router_parts.c (makes the parts) and topology.c (nearby as a product of
 * lib/tasks).
 *
 *     reports.c    locations: presence, join, outbox        graph.c       friendships: friend lists on disk
 *     overload.c   holds reports back when far behind       opting.c      sharing: consents, opt-outs
 *     telling.c    a join's result as deliveries            cap.c         friendships beyond the cap
 *     commands.c   friend commands, decided                 record_collector.c  everything that is produced, and its fate
 *     peer.c       questions of other processes             discover.c    users who share publicly
 *     near_pages.c who is near, for who has no session      notifying.c   that a friend came near, for who has no session
 *     links.c      links for strangers, in memory           link_answers.c  what links show, and questions about them
 *     choices.c    who shares and mutes, everywhere         telling_places.c  who is told of arrivals at places
 *
 * Those that decide things (presence, join, friendship, backlog, consents, excess, report_clock, approaches) know none of these.
 * Loop's thread.
 */
#pragma once

#include "event/codec.h"
#include "owner/checkpoints.h"
#include "owner/settings.h"
#include "owner/warmup.h"
#include "router/cap.h"
#include "router/choices.h"
#include "router/commands.h"
#include "router/discover.h"
#include "router/excess.h"
#include "router/link_answers.h"
#include "router/metrics.h"
#include "router/near_pages.h"
#include "router/notifying.h"
#include "router/opting.h"
#include "router/peer.h"
#include "router/record_collector.h"
#include "router/reports.h"
#include "router/router.h"
#include "router/telling_places.h"
#include "tasks/tasks.h"
#include "users/kept_details.h"

struct router {
    struct service *service;
    const struct service_settings *common;
    const struct router_settings *settings;
    const struct owner_settings *owning;
    int32_t partitions, routes;
    int64_t inactive_ms;
    struct grid rounded; /* of places that friends see rounded */
    char *path;          /* of the store */
    struct checkpoints *checkpoints;
    struct graph *graph;
    struct router_metrics metrics;

    struct presence *presence;
    struct kept_details *details; /* what phones say beside the place, of users who show it */
    struct report_clock *clock;
    struct codec *codec;
    struct epochs *epochs;
    struct deliver *outbox;
    struct record_collector *collector;
    struct excess *excess;
    struct cap *cap;
    struct list_store *friends; /* the graph's lists */
    struct opting *opting;
    struct links *links;
    struct commands *commands;
    struct reports *reports;
    struct discover *discover;
    struct choices *choices;
    struct notifying *notifying; /* NULL: nobody is notified */
    struct telling_places *places;
    struct warmup *warmup;
    bool prepared; /* presence may be read */
    struct tasks *tasks;
    struct near_pages *near;
    struct link_answers *link_answers;
    struct peer *peer;
    struct loop_timer *second, *tenth;
    bool started; /* the store is open, and all parts are there */
    bool draining;
};

/* ---- router_parts.c ---- */

/* Makes all parts, connects them, and begins to read. When it fails, router_free_parts frees those that are there. */
int router_make_parts(struct router *router, struct error *error);
void router_free_parts(struct router *router);

/* ---- topology.c ---- */

enum { ROUTER_LOCATIONS = 0 };                                                  /* the inputs, by the owner's numbers */
enum { ROUTER_FRIENDSHIPS, ROUTER_SHARING, ROUTER_PLACE_EVENTS, ROUTER_LINKS }; /* the states, and their stores */

extern const struct tasks_product ROUTER_TOPOLOGY;
void router_failed(void *router, const char *doing, const struct error *error); /* the process must end */
void router_warm_up(void *router); /* begins it, if what must come before is there */
struct list_store *router_friends_new(struct router *router);
int router_start_tasks(struct router *router, const struct owner_options *owner, struct error *error);
