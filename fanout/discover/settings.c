#include "fanout/discover/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct discover_screen_settings, member)

static const struct config_property PROPERTIES[] = {
    {"router.group.id", CONFIG_STRING, AT(routers), "starling-router",
     .doc = "Consumer group of the routers, which the edge asks for strangers nearby."},
};

static struct discover_screen_settings values;

const struct config_section DISCOVER_SCREEN_SECTION = {"Edge: strangers nearby (starling-fanout)", PROPERTIES,
                                                       ARRAY_SIZE(PROPERTIES), &values};
