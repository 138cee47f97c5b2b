#include "ingest/products.h"

#include <stdlib.h>

#include "base/mem.h"
#include "event/topics.h"
#include "ingest/nearby/history.h"
#include "ingest/nearby/links.h"
#include "ingest/nearby/locations.h"
#include "ingest/nearby/parts.h"
#include "ingest/nearby/sharing.h"

#define AT(member) offsetof(struct nearby_settings, member)

static const struct config_property PROPERTIES[] = {
    {"ingest.max.batch", CONFIG_INT, AT(max_batch), "1000", .min = 1, .max = 100000,
     .doc = "Reports in one request at most."},
    {"ingest.user.reports.rate", CONFIG_INT, AT(reports_rate), "5", .max = 1000000,
     .doc =
         "How many places a second a user may report by POST /v1/locations, counted by each gateway; beyond that requests are answered "
         "429. Tokens with scope gateway have no limit. 0: any number."},
    {"ingest.user.reports.burst", CONFIG_INT, AT(reports_burst), "10000", .min = 1, .max = 1000000000,
     .doc =
         "How many of them a user who has rested may report at once: a phone that was offline for a day may have thousands."},
    {"friends.requests.max", CONFIG_INT, AT(requests_max), "2000", .max = 1000000000,
     .doc =
         "How many requests, invitations and blocks a user may have: a new request for friendship by or to somebody with more is "
         "answered 409. 0: any number."},
    {"router.group.id", CONFIG_STRING, AT(router_group), "starling-router",
     .doc = "Consumer group of the routers, which answer for friends."},
    {"history.group.id", CONFIG_STRING, AT(history_group), "starling-history-sink",
     .doc = "Consumer group of the sinks, which answer for history."},
};

static struct nearby_settings configured;

const struct config_section NEARBY_SECTION = {"Gateway: nearby friends (starling-ingest)", PROPERTIES,
                                              ARRAY_SIZE(PROPERTIES), &configured};

static void sharing_changed(void *state, int64_t user) {
    const struct nearby_gateway *nearby = state;
    sharing_writes_noticed(nearby->sharing, user);
}

static bool ready(const void *of) { return user_copies_ready(((const struct nearby_gateway *)of)->copies); }

static int start_peers(struct nearby_gateway *nearby, const struct product_options *options, struct error *error) {
    const struct product_groups *groups = &options->groups;
    int code = owners_new(options, groups->routers, &TOPIC_LOCATIONS, &nearby->routers, error);
    if (!code) code = owners_new(options, groups->sinks, &TOPIC_LOCATIONS, &nearby->sinks, error);
    return code ? code : owners_new(options, groups->feeds, &TOPIC_POST_COMMANDS, &nearby->feeds, error);
}

static void start_parts(struct nearby_gateway *nearby, const struct product_options *options) {
    struct service *service = options->service;
    nearby->locations = locations_new(nearby);
    nearby->sharing = sharing_writes_new(service_loop(service), options->writer, user_copies_modes(nearby->copies),
                                         nearby->wall_clock);
    nearby->history = history_new(options, nearby->sinks);
}

static void add_endpoints(struct nearby_gateway *nearby, struct endpoints *endpoints) {
    const struct endpoint_list *const lists[] = {&PROFILES_ENDPOINTS,     &FRIENDS_ENDPOINTS,  &NEAR_ENDPOINTS,
                                                 &NEARBY_MUTES_ENDPOINTS, &AUDIENCE_ENDPOINTS, &DISCOVER_ENDPOINTS,
                                                 &OWNTRACKS_ENDPOINTS};
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) endpoints_add(endpoints, lists[i], nearby, ready, nearby);
    endpoints_add(endpoints, &LOCATIONS_ENDPOINTS, nearby->locations, ready, nearby);
    endpoints_add(endpoints, &SHARING_ENDPOINTS, nearby->sharing, ready, nearby);
    endpoints_add(endpoints, &HISTORY_ENDPOINTS, nearby->history, ready, nearby);
    endpoints_add(endpoints, &LINKS_ENDPOINTS, nearby->links, ready, nearby);
}

static void nearby_stop(void *state) {
    struct nearby_gateway *nearby = state;
    if (!nearby) return;
    if (nearby->sharing) sharing_writes_give_up(nearby->sharing);
    peers_free(nearby->routers);
    peers_free(nearby->sinks);
    peers_free(nearby->feeds);
    nearby->routers = nearby->sinks = nearby->feeds = NULL;
}

static void nearby_free(void *state) {
    struct nearby_gateway *nearby = state;
    if (!nearby) return;
    link_gateway_free(nearby->links);
    history_free(nearby->history);
    sharing_writes_free(nearby->sharing);
    locations_free(nearby->locations);
    free(nearby);
}

static int nearby_start(const struct product_options *options, void **state, struct error *error) {
    struct nearby_gateway *nearby = MEM_NEW(&(struct nearby_gateway){
        .core = *options,
        .settings = configured,
        .copies = options->copies,
        .wall_clock = service_settings(options->service)->clock == SERVICE_CLOCK_WALL,
        .friend_commands = metrics_counter(service_metrics(options->service), "starling_ingest_friend_commands_total",
                                           "Friend commands that Kafka acknowledged.", NULL),
    });
    int code = start_peers(nearby, options, error);
    if (!code) code = link_gateway_new(nearby, &nearby->links, error);
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

static bool nearby_busy(void *state) { return history_busy(((const struct nearby_gateway *)state)->history); }

const struct product NEARBY_PRODUCT = {.start = nearby_start,
                                       .stop = nearby_stop,
                                       .busy = nearby_busy,
                                       .free = nearby_free,
                                       .sharing = sharing_changed,
                                       .cannot_serve = cannot_serve};
