#include "moderation/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct moderation_settings, member)

static const struct config_property PROPERTIES[] = {
    {"group.id", CONFIG_STRING, AT(group), "starling-moderation",
     .doc =
         "Consumer group of the moderation processes. Each of them reads all comments; gateways find one by the group."},
    {"moderation.cache.mb", CONFIG_INT, AT(cache_mb), "32", .min = 1, .max = 65536,
     .doc = "Page cache (MiB) of the search index, for its writer and for each reader."},
    {"moderation.readers", CONFIG_INT, AT(readers), "2", .min = 1, .max = 64,
     .doc = "Threads that search, each with a connection to the index."},
    {"moderation.search.ms", CONFIG_INT, AT(search_ms), "2000", .min = 10, .max = 60000,
     .doc = "A search that takes longer than this (ms), waiting included, ends with 503 search_too_slow."},
};

static struct moderation_settings values;

const struct config_section MODERATION_SECTION = {"Moderation (starling-moderation)", PROPERTIES,
                                                  ARRAY_SIZE(PROPERTIES), &values};
