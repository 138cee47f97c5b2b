#include "router/settings.h"

#include "router/grid.h"

#define AT(member) offsetof(struct router_settings, member)

static const struct config_property PROPERTIES[] = {
    {"group.id", CONFIG_STRING, AT(group_id), "starling-router",
     .doc =
         "Consumer group of the routers, which divide the partitions among themselves. ingest finds them by this name."},
    {"friends.cap", CONFIG_INT, AT(friends_cap), "5000", .min = 1, .max = 20000,
     .doc = "How many friends a user may have."},
    {"friends.rebuild.after.h", CONFIG_INT, AT(friends_rebuild_after_h), "84", .min = 1, .max = 8760,
     .doc =
         "Friend lists on disk that are older, in hours, are read anew from the topic: they may have missed removals, of "
         "which Kafka keeps no trace after the tombstone retention (7 days). At most half of that."},
    {"store.memory.mb", CONFIG_INT, AT(store_memory_mb), "128", .min = 16, .max = 1048576,
     .doc =
         "Memory of RocksDB, which holds the friend lists, in MiB, all included: block cache with indexes and filters, write "
         "buffers of all partitions, open files, and what it takes to write them."},
    {"warm.first.s", CONFIG_INT, AT(warm_first_s), "90", .min = 1, .max = 86400,
     .doc =
         "How many seconds of locations are read at start before the router joins its group; the rest of the inactive "
         "window is read after that."},
    {"clock.wall.max.ahead.s", CONFIG_INT, AT(clock_wall_max_ahead_s), "60", .min = 0, .max = 86400,
     .doc = "With clock=wall, reports whose time is further ahead of this machine's clock, in seconds, are refused."},
    {"clock.stream.max.jump.s", CONFIG_INT, AT(clock_stream_max_jump_s), "3600", .min = 1, .max = 31536000,
     .doc = "With clock=stream, a report more than this many seconds past the highest of its partition is ignored."},
    {"max.lag.s", CONFIG_INT, AT(max_lag_s), "30", .min = 0, .max = 86400,
     .doc =
         "Reports that have waited longer than that, in seconds, are joined only if no newer one of the same user waits "
         "behind them: a router that is far behind catches up the sooner. 0: all are joined."},
    {"joins.user.rate", CONFIG_INT, AT(joins_rate), "20000", .min = 0, .max = 1000000000,
     .doc =
         "How many friends a second may be compared with a user's place; the reports of one beyond that are joined once a second, the "
         "newest of them. 0: any number."},
    {"joins.user.burst", CONFIG_INT, AT(joins_burst), "200000", .min = 1, .max = 1000000000,
     .doc = "How many friends may be compared at once with the place of a user who has rested."},
    {"commands.batch", CONFIG_INT, AT(commands_batch), "20000", .min = 1, .max = 100000,
     .doc = "How many friend commands one transaction holds at most."},
    {"discover.precision", CONFIG_INT, AT(discover_precision), "5", .min = GRID_PRECISION_MIN,
     .max = GRID_PRECISION_MAX,
     .doc =
         "The length of the geohashes that are the cells of users who share publicly. Strangers learn the cell and no more. 5: 0.044 "
         "degrees in both directions, about 5 km; 6: about 600 m high. The same for all routers."},
    {"discover.max", CONFIG_INT, AT(discover_max), "100", .min = 1, .max = 1000,
     .doc = "How many users who share publicly a list of strangers nearby has at most."},
    {"discover.delay.s", CONFIG_INT, AT(discover_delay_s), "60", .min = 0, .max = 3600,
     .doc =
         "Strangers are told that a user is in another cell after a random time of at most so many seconds. The same for all "
         "routers."},
    {"discover.user.rate", CONFIG_INT, AT(discover_rate), "1", .min = 0, .max = 100000,
     .doc =
         "How many times a second a user may ask who is nearby and shares publicly, over HTTP and WebSockets together; more is 429. 0: "
         "any number."},
    {"discover.user.burst", CONFIG_INT, AT(discover_burst), "10", .min = 1, .max = 100000,
     .doc = "How many of these questions a user who has rested may ask at once."},
    {"notify.approaches", CONFIG_BOOL, AT(notify_approaches), "false",
     .doc =
         "Whether users who have no session are told that a friend has come near, by feed processes that have a notify.url. The same for "
         "all routers."},
    {"notify.pause.s", CONFIG_INT, AT(notify_pause_s), "3600", .min = 0, .max = 604800,
     .doc = "A router has a user told that the same friend is near at most once in so many seconds."},
    {"rounded.precision", CONFIG_INT, AT(rounded_precision), "6", .min = GRID_PRECISION_MIN, .max = GRID_PRECISION_MAX,
     .doc =
         "The length of the geohashes to whose centres places are rounded for the friends for whom a user has chosen that. 6: a cell of "
         "0.0055 by 0.011 degrees, about 600 m high and up to 1.2 km wide; 5: about 5 km. The same for all routers."},
    {"outbox.flush.behind.ms", CONFIG_INT, AT(outbox_flush_behind_ms), "50", .min = 0, .max = 1000,
     .doc =
         "While the router is more than a second behind, this takes the place of outbox.flush.ms: larger batches cost less, so "
         "the router catches up sooner."},
};

/* One process, one configuration: written once, by config_finish, before anything reads it. */
static struct router_settings values;

const struct config_section ROUTER_SECTION = {"Router", PROPERTIES, ARRAY_SIZE(PROPERTIES), &values};
