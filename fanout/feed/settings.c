#include "fanout/feed/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct feed_screen_settings, member)

static const struct config_property PROPERTIES[] = {
    {"feed.group.id", CONFIG_STRING, AT(group), "starling-feed",
     .doc = "Consumer group of the feed processes, which the edge asks for the texts of new posts."},
    {"edge.feed.texts", CONFIG_INT, AT(texts), "4000", .max = 1000000,
     .doc =
         "How many texts of posts an edge keeps, so that it fetches each only once for all phones; some kilobytes each, and 64 MiB in all."},
    {"edge.feed.texts.s", CONFIG_INT, AT(texts_s), "10", .max = 3600,
     .doc = "How long it keeps a text (s). It forgets a deleted post when one of its phones is told of the deletion."},
};

static struct feed_screen_settings values;

const struct config_section FEED_SCREEN_SECTION = {"Edge: feed (starling-fanout)", PROPERTIES, ARRAY_SIZE(PROPERTIES),
                                                   &values};
