/* The state that all endpoints of nearby friends share. Loop's thread.
 *
 *     locations.c  reports                                  sharing.c   who may see a user
 *     friends.c    commands to friends, and lists of them; keyed by the lower user of the pair, whose owner tells the outcome
 *     near.c       GET /v1/nearby: the friends who are near the caller now, for callers without a socket
 *     audience.c   GET /v1/audience: who can see the caller now
 *     discover.c   GET /v1/discover: strangers nearby. Both sides must share publicly: the caller, and each user of the list
 *     mutes.c      friends whom the caller does not want to see nearby. One user's wish about the own list, so that no owner decides
 *                  about it: the gateway writes the record
 *     profiles.c   names and avatars: read from the local copy, written to their topic
 *     history.c    the caller's reports, as the history sinks answer
 *
 * The lists are made by the caller's router. This side leaves out who has opted out by the gateway's own copy of sharing, as the edges do
 * (docs/EXACTNESS.md, rule 6), because a router hears of that later: whoever has been answered that sharing is off is in no later answer of
 * the same gateway.
 */
#ifndef INGEST_NEARBY_PARTS_H
#define INGEST_NEARBY_PARTS_H

#include "ingest/nearby/settings.h"
#include "ingest/product.h"
#include "rpc/ask.h"

struct nearby_gateway {
    struct product_options core;
    struct nearby_settings settings;
    struct user_copies *copies; /* the gateway's */
    struct peers *routers, *sinks;
    bool wall_clock; /* a `since` ahead of this machine's clock is refused */
    struct metric *friend_commands;
    struct locations *locations;
    struct sharing_writes *sharing;
    struct history *history;
};

/* Their state is struct nearby_gateway. */
extern const struct endpoint_list FRIENDS_ENDPOINTS, NEAR_ENDPOINTS, NEARBY_MUTES_ENDPOINTS, AUDIENCE_ENDPOINTS,
    DISCOVER_ENDPOINTS, PROFILES_ENDPOINTS;

#endif
