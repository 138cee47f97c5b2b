#include "ingest/nearby/nearby.h"

#include <stdlib.h>

#include "base/mem.h"
#include "event/topics.h"
#include "ingest/nearby/audience.h"
#include "ingest/nearby/discover.h"
#include "ingest/nearby/friends.h"
#include "ingest/nearby/history.h"
#include "ingest/nearby/locations.h"
#include "ingest/nearby/mutes.h"
#include "ingest/nearby/near.h"
#include "ingest/nearby/profiles.h"
#include "ingest/nearby/settings.h"
#include "ingest/nearby/sharing.h"
#include "service/peers.h"

/* Its parts, and what several of them use. */
struct nearby_gateway {
    struct service *service;
    struct nearby_settings settings;
    struct user_copies *copies; /* the gateway's */
    struct peers *routers, *sinks;
    struct locations *locations;
    struct profile_writes *profiles;
    struct sharing_writes *sharing;
    struct friends *friends;
    struct near_lists *near;
    struct nearby_mutes *mutes;
    struct audience_pages *audience;
    struct discover_page *discover;
    struct history *history;
};

static void sharing_changed(void *state, int64_t user) {
    const struct nearby_gateway *nearby = state;
    sharing_writes_noticed(nearby->sharing, user);
}

static bool ready(const void *of) {
    const struct nearby_gateway *nearby = of;
    return user_copies_ready(nearby->copies);
}

static int start_peers(struct nearby_gateway *nearby, const struct product_options *options, struct error *error) {
    struct service *service = nearby->service;
    struct peers_options peers = {
        .loop = service_loop(service),
        .settings = service_kafka(service),
        .group = nearby->settings.router_group,
        .topic = &TOPIC_LOCATIONS,
        .partitions = options->shape->partitions[TOPIC_SPACE_USERS],
        .token = service_settings(service)->peer_token,
    };
    int code = peers_new(&peers, &nearby->routers, error);
    if (code) return code;
    peers.group = nearby->settings.history_group;
    return peers_new(&peers, &nearby->sinks, error);
}

static void start_parts(struct nearby_gateway *nearby, const struct product_options *options) {
    struct service *service = nearby->service;
    struct metrics *metrics = service_metrics(service);
    const struct service_settings *common = service_settings(service);
    nearby->locations = locations_new(&(struct locations_options){
        .metrics = metrics,
        .writer = options->writer,
        .modes = user_copies_modes(nearby->copies),
        .max_batch = (size_t)nearby->settings.max_batch,
        .user_rate = nearby->settings.reports_rate,
        .user_burst = nearby->settings.reports_burst,
        .times = {.any = common->clock == SERVICE_CLOCK_STREAM, .past_days = common->report_past_days},
    });
    nearby->profiles = profile_writes_new(options->writer, user_copies_profiles(nearby->copies));
    nearby->sharing = sharing_writes_new(service_loop(service), options->writer, user_copies_modes(nearby->copies),
                                         common->clock == SERVICE_CLOCK_WALL);
    nearby->friends = friends_new(options, nearby->routers, nearby->settings.requests_max);
    nearby->near = near_lists_new(options, nearby->routers, common->clock == SERVICE_CLOCK_WALL);
    nearby->mutes = nearby_mutes_new(options);
    nearby->audience = audience_pages_new(options, nearby->routers);
    nearby->discover = discover_page_new(&(struct discover_page_options){
        .routers = nearby->routers,
        .copies = nearby->copies,
    });
    nearby->history = history_new(options, nearby->sinks);
}

static void add_endpoints(struct nearby_gateway *nearby, struct endpoints *endpoints) {
    endpoints_add(endpoints, &LOCATIONS_ENDPOINTS, nearby->locations, ready, nearby);
    endpoints_add(endpoints, &PROFILES_ENDPOINTS, nearby->profiles, ready, nearby);
    endpoints_add(endpoints, &SHARING_ENDPOINTS, nearby->sharing, ready, nearby);
    endpoints_add(endpoints, &FRIENDS_ENDPOINTS, nearby->friends, ready, nearby);
    endpoints_add(endpoints, &NEAR_ENDPOINTS, nearby->near, ready, nearby);
    endpoints_add(endpoints, &NEARBY_MUTES_ENDPOINTS, nearby->mutes, ready, nearby);
    endpoints_add(endpoints, &AUDIENCE_ENDPOINTS, nearby->audience, ready, nearby);
    endpoints_add(endpoints, &DISCOVER_ENDPOINTS, nearby->discover, ready, nearby);
    endpoints_add(endpoints, &HISTORY_ENDPOINTS, nearby->history, ready, nearby);
}

static void nearby_stop(void *state) {
    struct nearby_gateway *nearby = state;
    if (!nearby) return;
    if (nearby->sharing) sharing_writes_give_up(nearby->sharing);
    peers_free(nearby->routers);
    peers_free(nearby->sinks);
    nearby->routers = nearby->sinks = NULL;
}

static void nearby_free(void *state) {
    struct nearby_gateway *nearby = state;
    if (!nearby) return;
    history_free(nearby->history);
    near_lists_free(nearby->near);
    nearby_mutes_free(nearby->mutes);
    audience_pages_free(nearby->audience);
    discover_page_free(nearby->discover);
    friends_free(nearby->friends);
    sharing_writes_free(nearby->sharing);
    profile_writes_free(nearby->profiles);
    locations_free(nearby->locations);
    free(nearby);
}

static int nearby_start(const struct product_options *options, void **state, struct error *error) {
    struct nearby_gateway *nearby = mem_alloc(sizeof *nearby);
    *nearby = (struct nearby_gateway){
        .service = options->service,
        .settings = *(const struct nearby_settings *)NEARBY_SECTION.values,
        .copies = options->copies,
    };
    int code = start_peers(nearby, options, error);
    if (code) {
        nearby_stop(nearby);
        nearby_free(nearby);
        return code;
    }
    start_parts(nearby, options);
    add_endpoints(nearby, options->endpoints);
    *state = nearby;
    return 0;
}

static void cannot_serve(void *state, service_namer *name, void *context) {
    const struct nearby_gateway *nearby = state;
    if (!peers_complete(nearby->routers)) name(context, "friends");
    if (!peers_complete(nearby->sinks)) name(context, "history");
}

static bool nearby_busy(void *state) {
    const struct nearby_gateway *nearby = state;
    return history_busy(nearby->history);
}

const struct product NEARBY_PRODUCT = {.start = nearby_start,
                                       .stop = nearby_stop,
                                       .busy = nearby_busy,
                                       .free = nearby_free,
                                       .sharing = sharing_changed,
                                       .cannot_serve = cannot_serve};
