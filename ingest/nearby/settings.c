#include "ingest/nearby/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct nearby_settings, member)

static const struct config_property PROPERTIES[] = {
    {"ingest.max.batch", CONFIG_INT, AT(max_batch), "1000", .min = 1, .max = 100000,
     .doc = "Reports in one request at most."},
    {"discover.user.rate", CONFIG_INT, AT(discover_rate), "1", .min = 0, .max = 100000,
     .doc = "How many times a second a user may ask who is nearby and shares publicly; more is 429. 0: any number."},
    {"discover.user.burst", CONFIG_INT, AT(discover_burst), "10", .min = 1, .max = 100000,
     .doc = "How many of these questions a user who has rested may ask at once."},
    {"router.group.id", CONFIG_STRING, AT(router_group), "starling-router",
     .doc = "Consumer group of the routers, which answer for friends."},
    {"history.group.id", CONFIG_STRING, AT(history_group), "starling-history-sink",
     .doc = "Consumer group of the sinks, which answer for history."},
    {"web.ws.url", CONFIG_STRING, AT(web_ws_url), "",
     .doc = "WebSocket address that the page is told. Empty: the page's own host, port 8081."},
    {"web.tile.url", CONFIG_STRING, AT(web_tile_url), "",
     .doc = "Map tiles for the page, as Leaflet writes them ({z}/{x}/{y}). Empty: a plain grid."},
};

static struct nearby_settings values;

const struct config_section NEARBY_SECTION = {"Gateway: nearby friends (starling-ingest)", PROPERTIES,
                                              ARRAY_SIZE(PROPERTIES), &values};
