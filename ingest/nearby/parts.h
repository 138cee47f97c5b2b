/* The state that all endpoints of nearby friends share. Loop's thread.
 *
 *     locations.c  reports                                  sharing.c   who may see a user
 *     owntracks.c  POST /v1/owntracks: a report as the app OwnTracks makes it, which is told who is near
 *     friends.c    commands to friends, and lists of them; keyed by the lower user of the pair, whose owner tells the outcome
 *     mutual.c     which friends two users have in common
 *     near.c       GET /v1/nearby: the friends who are near the caller now, for callers without a socket
 *     audience.c   GET /v1/audience: who can see the caller now
 *     discover.c   GET /v1/discover: strangers nearby. Both sides must share publicly: the caller, and each user of the list
 *     links.c      links by which whoever has one sees the caller's place, without an account
 *     mutes.c      friends whom the caller does not want to see nearby. One user's wish about the own list, so that no owner decides
 *                  about it: the gateway writes the record
 *     profiles.c   what others see of a user: read from the local copy, written to their topic
 *     history.c    the caller's reports, as the history sinks answer
 *
 * The lists are made by the caller's router. This side leaves out who has opted out by the gateway's own copy of sharing, as the edges do
 * (docs/EXACTNESS.md, rule 6), because a router hears of that later: whoever has been answered that sharing is off is in no later answer of
 * the same gateway.
 */
#pragma once

#include "ingest/owners.h"
#include "ingest/product.h"
#include "json/details.h"

/* The section of the gateway's configuration: values of NEARBY_SECTION (ingest/products.h). */
struct nearby_settings {
    const char *router_group, *history_group;
    int64_t max_batch, reports_rate, reports_burst, requests_max;
};

struct nearby_gateway {
    struct product_options core;
    struct nearby_settings settings;
    struct user_copies *copies; /* the gateway's */
    struct peers *routers, *sinks;
    struct peers *feeds; /* of handles */
    bool wall_clock;     /* a `since` ahead of this machine's clock is refused */
    struct metric *friend_commands;
    struct locations *locations;
    struct sharing_writes *sharing;
    struct history *history;
    struct link_gateway *links;
};

/* Appends the answer's body, which is made of the router's page. False: the router is of another version and means something else, which is
 * answered as if it had not answered. */
typedef bool nearby_put(const struct nearby_gateway *nearby, int64_t user, struct buffer *body, const json_t *page);

/* Answers the request where the page does not count. status: the router's; 0: there is no answer. False: the request is not answered. */
typedef bool nearby_refuse(const struct nearby_gateway *nearby, int64_t user, struct http_request *request,
                           unsigned status);

/* Asks the caller's router, and answers 200 with what `put` has made of its page; all else as owners_pass_on does. refuse NULL: the page
 * always counts. */
void nearby_ask(const struct nearby_gateway *nearby, const struct call *call, int timeout_ms, nearby_put *put,
                nearby_refuse *refuse, const struct rpc_question *question, const struct rpc_value *values);

/* A friend of the router's page. */
struct near_friend {
    int64_t user, time;
    int32_t lat, lng; /* 1e-7 degrees */
    double distance_m;
    bool rounded;
    int64_t accuracy; /* metres; -1 here and in details: not said, or not to the caller */
    struct report_details details;
};
typedef void near_put_friend(struct buffer *body, const struct near_friend *near, struct profiles *profiles);

/* Appends a list of the page's friends whom the caller may see and has not muted. False: as nearby_put. */
bool near_put_friends(const struct nearby_gateway *nearby, int64_t caller, struct buffer *body, const json_t *page,
                      near_put_friend *put);

/* Their state is struct nearby_gateway. */
extern const struct endpoint_list FRIENDS_ENDPOINTS, NEAR_ENDPOINTS, NEARBY_MUTES_ENDPOINTS, AUDIENCE_ENDPOINTS,
    DISCOVER_ENDPOINTS, PROFILES_ENDPOINTS, OWNTRACKS_ENDPOINTS;
