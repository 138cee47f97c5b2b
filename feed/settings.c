#include "feed/settings.h"

#define AT(member) offsetof(struct feed_settings, member)

static const struct config_property PROPERTIES[] = {
    {"group.id", CONFIG_STRING, AT(group_id), "starling-feed",
     .doc =
         "Consumer group of the feed processes, which divide the partitions among themselves. ingest finds them by this "
         "name."},
    {"feed.push.max", CONFIG_INT, AT(push_max), "1000", .min = 0, .max = 100000000,
     .doc =
         "A post of an author with up to so many followers is pushed to the inbox of each. A post of an author with more goes "
         "once to every feed process, which adds it to the pages of his followers."},
    {"feed.backlog", CONFIG_INT, AT(backlog), "100", .min = 20, .max = 1000,
     .doc =
         "How many of an author's newest posts go into the inbox of a new follower, and into one that is built anew. Pages of older "
         "posts ask the authors' processes."},
    {"feed.inbox.max", CONFIG_INT, AT(inbox_max), "800", .min = 100, .max = 10000,
     .doc = "How many posts an inbox holds. Pages of older posts ask the authors' processes."},
    {"feed.following.max", CONFIG_INT, AT(following_max), "5000", .min = 1, .max = 5000,
     .doc = "How many users a user may follow; a few more, if they are followed at the same moment."},
    {"feed.hot.days", CONFIG_INT, AT(hot_days), "7", .min = 1, .max = 7,
     .doc = "For how many days each process keeps posts of authors with more than feed.push.max followers in memory."},
    {"feed.away.days", CONFIG_INT, AT(away_days), "30", .min = 1, .max = 365,
     .doc =
         "Posts are not pushed to users who have read nothing for so many days. The next page of such a user builds the inbox "
         "anew."},
    {"store.memory.mb", CONFIG_INT, AT(store_memory_mb), "256", .min = 32, .max = 1048576,
     .doc =
         "Memory of RocksDB in MiB, all included: a quarter for the lists of follows, the rest for posts and inboxes."},
    {"inbox.memory.mb", CONFIG_INT, AT(inbox_memory_mb), "64", .min = 1, .max = 65536,
     .doc = "How many MiB of pushed posts are gathered in memory before they are written."},
    {"inbox.write.s", CONFIG_INT, AT(inbox_write_s), "300", .min = 1, .max = 3600,
     .doc =
         "After so many seconds they are written at the latest. A restarted process reads posts again that were not written. A write "
         "costs about the same for one post of an inbox as for ten."},
    {"readers.memory.mb", CONFIG_INT, AT(readers_memory_mb), "64", .min = 0, .max = 65536,
     .doc =
         "How many MiB hold what pages need of readers who have read one lately: half for the lists of follows, half for the newest "
         "posts of inboxes, some 1.5 and 1 KiB for a reader who follows 500. It saves the look-ups in RocksDB. 0: nothing is held."},
    {"follows.rebuild.after.h", CONFIG_INT, AT(rebuild_after_h), "84", .min = 1, .max = 8760,
     .doc =
         "Lists of follows on disk that are older, in hours, are read anew from the topic: they may have missed tombstones, "
         "which Kafka keeps for 7 days. At most half of that."},
    {"notify.url", CONFIG_STRING, AT(notify_url), "",
     .doc =
         "Where feed processes post the notices of users who watch none, such as https://push.example/notices (docs/CLIENTS.md has the "
         "body). The same for all. Empty: nowhere."},
    {"notify.key", CONFIG_STRING, AT(notify_key), "", .secret = true,
     .doc =
         "The key of these posts, of at least 32 bytes: the field `Starling-Signature` of each is `sha256=` and the HMAC-SHA256 of the "
         "body. Empty: posts are not signed."},
    {"devices.silent.s", CONFIG_INT, AT(devices_silent_s), "180", .min = 2, .max = 86400,
     .doc =
         "Sessions of an edge that has said nothing for so many seconds are over: it died. At least three times the edges' "
         "edge.devices.beat.s."},
    {"commands.batch", CONFIG_INT, AT(commands_batch), "2000", .min = 1, .max = 100000,
     .doc = "How many commands one transaction holds at most."},
};

/* One process, one configuration: written once, by config_finish, before anything reads it. */
static struct feed_settings values;

const struct config_section FEED_SECTION = {"Feed", PROPERTIES, ARRAY_SIZE(PROPERTIES), &values};
