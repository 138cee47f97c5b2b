#include "router/settings.h"

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
    {"checkpoint.dir", CONFIG_STRING, AT(checkpoint_dir), "",
     .doc =
         "Folder for checkpoints of the friend lists, one process's own, best on data.dir's filesystem: they are then hard "
         "links and cost nothing but what has changed since. A router whose data.dir is empty starts from the newest one "
         "there and reads only what followed. Empty: none."},
    {"checkpoint.every.s", CONFIG_INT, AT(checkpoint_every_s), "3600", .min = 1, .max = 604800,
     .doc = "How often a checkpoint is made, in seconds, while all owned partitions are restored."},
    {"checkpoint.keep", CONFIG_INT, AT(checkpoint_keep), "3", .min = 1, .max = 1000,
     .doc = "How many checkpoints are kept; older ones are deleted."},
    {"warm.first.s", CONFIG_INT, AT(warm_first_s), "90", .min = 1, .max = 86400,
     .doc =
         "How many seconds of locations are read at start before the router joins its group; the rest of the inactive "
         "window is read after that."},
    {"standby.replicas", CONFIG_INT, AT(standby_replicas), "1", .min = 0, .max = 16,
     .doc =
         "How many other routers keep the friend lists of each partition up to date, so that they can take it over without "
         "reading them first. One covers the end of any member. With 0, lists are read after a take-over, and a new process "
         "joins the group without having read them."},
    {"stop.hands.over", CONFIG_BOOL, AT(stop_hands_over), "true",
     .doc =
         "Whether a router that has a group.instance.id gives its partitions to the others when it is ended by SIGTERM. With "
         "false nobody serves them until it is back, or its session has timed out."},
    {"clock.wall.max.ahead.s", CONFIG_INT, AT(clock_wall_max_ahead_s), "60", .min = 0, .max = 86400,
     .doc = "With clock=wall, reports whose time is further ahead of this machine's clock, in seconds, are refused."},
    {"clock.stream.max.jump.s", CONFIG_INT, AT(clock_stream_max_jump_s), "3600", .min = 1, .max = 31536000,
     .doc = "With clock=stream, a report more than this many seconds past the highest of its partition is ignored."},
    {"max.lag.s", CONFIG_INT, AT(max_lag_s), "30", .min = 0, .max = 86400,
     .doc =
         "Reports that have waited longer than that, in seconds, are joined only if no newer one of the same user waits "
         "behind them: a router that is far behind catches up the sooner. 0: all are joined."},
    {"batch.records", CONFIG_INT, AT(batch_records), "1000", .min = 1, .max = 100000,
     .doc = "How many records are handled in one go."},
    {"commands.batch", CONFIG_INT, AT(commands_batch), "20000", .min = 1, .max = 100000,
     .doc = "How many friend commands one transaction holds at most."},
    {"outbox.flush.bytes", CONFIG_INT, AT(outbox_flush_bytes), "65536", .min = 1024, .max = 524288,
     .doc = "A delivery batch is sent when it holds that many bytes."},
    {"outbox.flush.ms", CONFIG_INT, AT(outbox_flush_ms), "5", .min = 0, .max = 1000,
     .doc = "A delivery batch is sent when its first item is that old, in ms, or at once when no more input is there."},
    {"outbox.flush.behind.ms", CONFIG_INT, AT(outbox_flush_behind_ms), "50", .min = 0, .max = 1000,
     .doc =
         "The same while the router is more than a second behind: larger batches cost less, so that it catches up sooner."},
    {"outbox.queue.mb", CONFIG_INT, AT(outbox_queue_mb), "64", .min = 1, .max = 4096,
     .doc = "How many MiB of delivery batches may wait for Kafka's acknowledgement before input is held."},
};

/* One process, one configuration: written once, by config_finish, before anything reads it. */
static struct router_settings values;

const struct config_section ROUTER_SECTION = {"Router", PROPERTIES, ARRAY_SIZE(PROPERTIES), &values};
