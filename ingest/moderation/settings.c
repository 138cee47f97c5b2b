#include "ingest/moderation/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct moderation_gateway_settings, member)

static const struct config_property PROPERTIES[] = {
    {"moderation.group.id", CONFIG_STRING, AT(group), "starling-moderation",
     .doc = "Consumer group of the moderation processes, which search comments."},
};

static struct moderation_gateway_settings values;

const struct config_section MODERATION_GATEWAY_SECTION = {"Gateway: moderation (starling-ingest)", PROPERTIES,
                                                          ARRAY_SIZE(PROPERTIES), &values};
