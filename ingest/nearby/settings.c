#include "ingest/nearby/settings.h"

#include <stddef.h>

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

static struct nearby_settings values;

const struct config_section NEARBY_SECTION = {"Gateway: nearby friends (starling-ingest)", PROPERTIES,
                                              ARRAY_SIZE(PROPERTIES), &values};
