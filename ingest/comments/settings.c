#include "ingest/comments/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct comments_gateway_settings, member)

static const struct config_property PROPERTIES[] = {
    {"comments.group.id", CONFIG_STRING, AT(group), "starling-comments",
     .doc = "Consumer group of the comments processes, which answer for threads."},
    {"comments.hot.reads", CONFIG_INT, AT(hot_reads), "200", .min = 1, .max = 1000000000,
     .doc =
         "A subject that is read so often within ten seconds is hot: the gateway answers the pages of the 32 hottest from copies "
         "that are at most a second old."},
    {"comments.hot.mb", CONFIG_INT, AT(hot_memory_mb), "64", .max = 65536, .doc = "Memory of these copies (MiB)."},
};

static struct comments_gateway_settings values;

const struct config_section COMMENTS_GATEWAY_SECTION = {"Gateway: comments (starling-ingest)", PROPERTIES,
                                                        ARRAY_SIZE(PROPERTIES), &values};
