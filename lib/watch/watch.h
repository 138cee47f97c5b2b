/* Watching: how the screens of phones follow things that change, such as a feed or the comments of a post.
 *
 *      phones                edge process                          Kafka                          owner process
 *                      (watch/edge.h, one a process)                                     (watch/owner.h, one a process)
 *     +-------+ shows  +--------------------------+  watch    +--------------------+     +---------------------------+
 *     | page  |------->| feed:7       2 sessions  |---------->| topic of watches,  |---->| feed:7       edge 81 @ 3  |
 *     |  v 4  |        |   written: route 3       |  tombst.  | compacted, key     |     |              edge 95 @ 6  |
 *     |       | change |   heard: version 4       |---------->| (what, watcher),   |     |   version 5               |
 *     |       |<-------| comments:post:123        |  roll     | partitioned by     |     | comments:post:123         |
 *     |       | stale  |   1 session ...          |---------->| what               |     |              edge 95 @ 6  |
 *     +-------+<-------+--------------------------+  call     +--------------------+     +---------------------------+
 *                            ^                                                              |
 *                            |          deliveries, a partition a route:                    |
 *                            +------  TOLD {since, version}, NAMED {version}, AGAIN  <------+
 *
 * A *thing* has a version and is shown on screens. It is named by its *what*: a string of bytes, such as "feed:7" or
 * "comments:post:123", which this library never looks into. Each thing lies in one partition, and each partition has one *owner*: the
 * process that knows the thing's version. Phones hold a socket to some *edge* process. A *route* is the partition of
 * deliveries that reaches an edge. A *watcher* is a random number that an edge process draws when it starts, so that
 * an edge that is started again is another watcher.
 *
 * The protocol
 * - When the first session of an edge shows a thing, the edge writes a watch record, key (what, watcher), value {route}.
 *   It writes the record anew when its route changes, and a tombstone after the last session has left the thing.
 * - The owner reads the topic from the beginning before it tells anybody anything, and keeps the watches of its partitions
 *   in memory. It answers a watch record by the version (NAMED). It tells each change once to each route that watches the thing:
 *   TOLD {since, version} with content that only the product understands. After a take-over it names all versions.
 * - The edge tells the change to those sessions whose page has the version `since`. To the others it says that their page is
 *   *stale*, and names the version.
 * - A page may be a little older than what the edge has heard: from a gateway's copy, or because a change came while it was on its
 *   way. An edge that keeps the latest changes of a thing (watch/edge.h, replay_bytes) tells such a page those that follow its version.
 * - A thing that changes too often may be *sampled*: the owner sends some content to every page (WATCH_VERSION_ANY), leaves the rest out,
 *   and names the version once that is over. Then all pages are read again.
 *
 * Deliveries, watch records and roll calls may get lost, be repeated, or come from a former owner; an edge may crash; a page may
 * come from a copy that a gateway keeps. Four rules repair all of it within three minutes, and each of them is needed
 * (tests/unit/lib/watch/test_histories.c leaves each one out, and then screens stay old):
 * - rollcall: Once a minute an edge writes a roll call to each partition: how many watch records it has written there, and a
 *   hash of them. An owner that holds others drops those of this edge and asks for all of them anew (AGAIN). The owner also
 *   drops the watches of a watcher that has been silent for three minutes, and writes tombstones for its keys.
 * - ack: A roll call also carries the versions that the edge has heard since its last one, and the things of which it
 *   has heard no version. The owner names a version again that was due at the watcher's previous roll call and has not been
 *   acknowledged since, at each roll call, until it is acknowledged. Roll calls are numbered: after a gap the owner names all versions
 *   that this watcher watches, because the roll call that is missing may have said anything.
 * - second: A phone says which version its page has. An edge that has heard of another version says at once that the page is
 *   stale.
 * - reread: A phone that is told that its page is stale reads the page again, and again with growing pauses while that page is
 *   older than the version that was named. After each reading it says "watch" again, with the version of the page that it has
 *   now. (This rule is the phone's.)
 *
 * A phone compares, too, because messages to it and from it cross: it ignores a change to a version that it has, applies a
 * change whose `since` is the version that it has, and reads its page for any other change to a newer version.
 *
 * The parts
 *     watch/watch.h     this text; versions
 *     watch/records.h   the bytes of watch records, roll calls and deliveries
 *     watch/edge.h      the edge's side
 *     watch/owner.h     the owner's side
 * The library knows no product, does no I/O and reads no clock: the caller passes the time and carries out what the callbacks say.
 * One call does a bounded amount of work; both sides have a function that continues with the rest. Each object belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WATCH_WHAT_MAX = 200,    /* bytes of a what; at least 1 */
    WATCH_ROUTE_MAX = 65535, /* routes are 0 to this */
    WATCH_DELIVERY_KIND =
        2, /* of the envelopes of deliveries from owner to edge, if the product has no kind of its own */
    WATCH_ROLL_CALL_MS = 60000 /* an edge writes one roll call to each partition in that time */
};

/* The version of a thing. It comes in two kinds, and a thing keeps to one of them:
 * - A counter, hash 0: the number never falls, and tells which of two versions is older. For comments.
 * - A fingerprint, hash not 0: the number of the newest item (0: none), and a hash over the newest items. Two
 *   versions are the same if both members are. A smaller number means most likely that a version is older, but not for sure:
 *   the number falls when the newest item is deleted. For feeds.
 * A page of an app shows a version as a string of the product's choice. */
struct watch_version {
    int64_t number;
    uint64_t hash;
};

/* The version of a delivery whose content is for every page of the thing, whatever its version: no page's version changes by it. */
#define WATCH_VERSION_ANY ((struct watch_version){.number = -1})

static inline bool watch_version_same(struct watch_version a, struct watch_version b) {
    return a.number == b.number && a.hash == b.hash;
}

static inline bool watch_version_counters(struct watch_version a, struct watch_version b) {
    return a.hash == 0 && b.hash == 0;
}

/* Whether a page of the version `known` becomes one of `version` by the change since -> version: it has the version `since`; or all
 * are counters and it has one between the two, as applying a change twice does no harm. */
static inline bool watch_version_follows(struct watch_version known, struct watch_version since,
                                         struct watch_version version) {
    if (watch_version_same(known, since)) return true;
    return watch_version_counters(known, since) && watch_version_counters(known, version) &&
           since.number <= known.number && known.number < version.number;
}

/* A fingerprint as a text for apps: 32 digits. Reading: false, and nothing is written, if it is none. */
enum { WATCH_VERSION_TEXT = 33 };
void watch_version_write(struct watch_version version, char text[WATCH_VERSION_TEXT]);
bool watch_version_read(const char *text, size_t size, struct watch_version *version);

/* The hash of a what. It is part of the protocol: it never changes. */
uint64_t watch_hash(const void *what, size_t size);

/* The share of one watch record in the hash of a roll call, which is the wrapping sum of all shares. */
uint64_t watch_hash_share(uint64_t what_hash, int32_t route);
