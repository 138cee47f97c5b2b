#include "places/settings.h"

#define AT(member) offsetof(struct places_settings, member)

static const struct config_property PROPERTIES[] = {
    {"group.id", CONFIG_STRING, AT(group_id), "starling-places",
     .doc =
         "Consumer group of the places processes, which divide the users among themselves. ingest finds them by this name."},
    {"store.memory.mb", CONFIG_INT, AT(store_memory_mb), "128", .min = 16, .max = 1048576,
     .doc = "Memory of RocksDB in MiB, all included."},
    {"places.rebuild.after.h", CONFIG_INT, AT(rebuild_after_h), "84", .min = 1, .max = 8760,
     .doc =
         "Places on disk that were last up to date longer ago, in hours, are read anew from the topics: they may have missed "
         "tombstones, which Kafka keeps for 7 days. At most half of that."},
    {"commands.batch", CONFIG_INT, AT(commands_batch), "8000", .min = 1, .max = 100000,
     .doc = "How many reports and changes of places one transaction holds at most."},
    {"places.cover.s", CONFIG_INT, AT(cover_s), "60", .min = 1, .max = 3600,
     .doc =
         "A user's state is written so many seconds after a report that changed nothing but the time of the newest one. No more "
         "reports than of so long are read again at a start."},
    {"clock.wall.max.ahead.s", CONFIG_INT, AT(ahead_s), "60", .min = 0, .max = 86400,
     .doc =
         "With clock=wall, reports whose time is further ahead of their arrival, in seconds, do not count. The same for routers."},
};

/* One process, one configuration: written once, by config_finish, before anything reads it. */
static struct places_settings values;

const struct config_section PLACES_SECTION = {"Places", PROPERTIES, ARRAY_SIZE(PROPERTIES), &values};
