#include "comments/settings.h"

#define AT(member) offsetof(struct comments_settings, member)

static const struct config_property PROPERTIES[] = {
    {"group.id", CONFIG_STRING, AT(group_id), "starling-comments",
     .doc =
         "Consumer group of the comments processes, which divide the subjects among themselves. ingest finds them by this "
         "name."},
    {"store.memory.mb", CONFIG_INT, AT(store_memory_mb), "256", .min = 32, .max = 1048576,
     .doc = "Memory of RocksDB in MiB, all included."},
    {"comments.rebuild.after.h", CONFIG_INT, AT(rebuild_after_h), "84", .min = 1, .max = 8760,
     .doc =
         "Comments on disk that were last up to date longer ago, in hours, are read anew from the topics: they may have missed "
         "tombstones, which Kafka keeps for 7 days. At most half of that."},
    {"commands.batch", CONFIG_INT, AT(commands_batch), "8000", .min = 1, .max = 100000,
     .doc = "How many commands one transaction holds at most."},
    {"comments.live.max", CONFIG_INT, AT(live_max), "200", .min = 1, .max = 5000,
     .doc =
         "New comments and changed counters of one subject that phones are told in a second. With more, the live thread is "
         "sampled: the oldest new comments are left out, and phones read their page again when it is over."},
    {"comments.user.rate", CONFIG_INT, AT(user_rate), "1", .max = 1000,
     .doc =
         "How many comments a user may write a second under one subject, through whichever gateways; beyond that they are answered "
         "429. 0: any number."},
    {"comments.user.burst", CONFIG_INT, AT(user_burst), "60", .min = 1, .max = 100000,
     .doc = "How many of them a user who has rested may write at once."},
};

/* One process, one configuration: written once, by config_finish, before anything reads it. */
static struct comments_settings values;

const struct config_section COMMENTS_SECTION = {"Comments", PROPERTIES, ARRAY_SIZE(PROPERTIES), &values};
