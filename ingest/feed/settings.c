#include "ingest/feed/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct feed_gateway_settings, member)

static const struct config_property PROPERTIES[] = {
    {"feed.group.id", CONFIG_STRING, AT(group), "starling-feed",
     .doc = "Consumer group of the feed processes, which answer for posts, follows and home timelines."},
    {"feed.texts.mb", CONFIG_INT, AT(texts_mb), "128", .max = 1000000,
     .doc = "How much memory the texts of posts may take that a gateway keeps for pages of home timelines (MB)."},
    {"feed.texts.s", CONFIG_INT, AT(texts_s), "30", .max = 3600,
     .doc =
         "How long a gateway keeps a text (s); 0: not at all. docs/FEED.md says in which cases a page shows a deleted post for so "
         "long."},
};

static struct feed_gateway_settings values;

const struct config_section FEED_GATEWAY_SECTION = {"Gateway: feed (starling-ingest)", PROPERTIES,
                                                    ARRAY_SIZE(PROPERTIES), &values};
