#include "ingest/feed/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct feed_gateway_settings, member)

static const struct config_property PROPERTIES[] = {
    {"feed.group.id", CONFIG_STRING, AT(group), "starling-feed",
     .doc = "Consumer group of the feed processes, which answer for posts, follows and home timelines."},
};

static struct feed_gateway_settings values;

const struct config_section FEED_GATEWAY_SECTION = {"Gateway: feed (starling-ingest)", PROPERTIES,
                                                    ARRAY_SIZE(PROPERTIES), &values};
