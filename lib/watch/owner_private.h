/* Shared by the files of the owner's side. Private to lib/watch.
 *
 *     part    names: what -> thing          watching: (what, watcher) -> watching         watchers: number -> watcher
 *                                           acked: (watch_hash, watcher) -> watching <-> watching of the same hash
 *
 *     thing feed:7        [ by_thing:   watching <-> watching ]
 *                                          |            |
 *     watcher 81  settled [ by_watcher: watching ]      |        the watcher has acknowledged the thing's version
 *                 pending [                             |   ]    it has not: the version was told since
 *     watcher 95  settled [                             |   ]
 *                 pending [ by_watcher:              watching ]
 *                 checked [                                 ]    was pending at the roll call that is being looked at
 *
 * An acknowledgement names a thing by its watch_hash alone. If a watcher watches several things of one hash, none of them is acknowledged:
 * their versions are named again at each roll call.
 *
 * A watching is in the list of its thing and in one list of its watcher. A watcher that is dropped is out of `watchers` at once;
 * its watchings are freed a slice at a time, and cause no more deliveries.
 */
#pragma once

#include "base/buffer.h"
#include "base/map.h"
#include "watch/list.h"
#include "watch/names.h"
#include "watch/owner.h"
#include "watch/records.h"

enum { OWNER_TICK_MS = 60000, OWNER_SILENT_TICKS = 3 };

/* A thing that at least one edge watches. */
struct thing {
    struct watch_name name; /* first: names.h */
    struct watch_link in_part;
    struct watch_link watchings;
    bool known; /* its version is: */
    struct watch_version version;
};

struct watcher {
    uint64_t number;
    struct watch_link in_part;
    struct watch_link in_work; /* something is in `checked` */
    struct watch_link settled, pending, checked;
    int64_t count;           /* of its watchings */
    uint64_t hash;           /* sum of their watch_hash_share */
    int64_t roll_calls;      /* number of the last record of its roll calls; 0: none was read */
    bool missed;             /* some were not read: what it has acknowledged is not known */
    bool checked_all;        /* so all of its watchings are in `checked` */
    int silent;              /* ticks since it was heard of */
    bool dropped, forgotten; /* it goes away; and its keys are to be, too */
};

/* One watcher's watch of one thing. */
struct watching {
    struct watching *same;          /* another one with the same key in the table */
    struct watch_link in_same_hash; /* a ring without a list of its own */
    struct thing *thing;
    struct watcher *watcher;
    struct watch_link by_thing, by_watcher;
    int32_t route;
    bool pending, due_known; /* due_known: at the last roll call it was pending, and the version was `due` */
    struct watch_version due;
};

struct watch_owner_part {
    int32_t number;
    bool live;
    int64_t tick_ms; /* of the next one */
    struct map *names, *watching, *acked, *watchers;
    struct watch_link things;
    struct watch_link unnamed; /* things whose version is to be named after a take-over */
    struct watch_link heard;   /* watchers that are in watchers */
    struct watch_link work;    /* watchers of which something is in `checked` */
    struct watch_link dropped; /* watchers that go away */
    struct watch_link in_gone;
};

struct watch_owner {
    struct watch_owner_options options;
    struct watch_owner_part **parts; /* NULL: not attached */
    struct watch_link gone;          /* detached parts that are being freed */
    struct buffer payload;
    uint64_t round;     /* of deliveries to several routes */
    struct map *routes; /* route -> round of the last delivery */
    struct watch_owner_stats stats;
};

/* owner_table.c */
struct thing *watch_owner_thing_find(const struct watch_owner_part *part, const void *what, size_t size);
struct watching *watch_owner_watching_find(const struct watch_owner_part *part, const struct thing *thing,
                                           uint64_t watcher);
struct watching *watch_owner_watching_acked(const struct watch_owner_part *part, uint64_t what_hash,
                                            uint64_t watcher); /* NULL: none, or several */
struct watcher *watch_owner_watcher(struct watch_owner *owner, struct watch_owner_part *part,
                                    uint64_t number); /* made if needed */
struct watching *watch_owner_watching_put(struct watch_owner *owner, struct watch_owner_part *part,
                                          const struct watch_key *key, int32_t route);
void watch_owner_watching_free(struct watch_owner *owner, struct watch_owner_part *part, struct watching *watching);
void watch_owner_watcher_drop(struct watch_owner *owner, struct watch_owner_part *part, struct watcher *watcher,
                              bool forgotten);
void watch_owner_watcher_free(struct watcher *watcher); /* one without watchings */

/* owner_telling.c */
void watch_owner_pend(struct watching *watching);
void watch_owner_name_one(struct watch_owner *owner, struct watch_owner_part *part, struct watching *watching);
size_t watch_owner_name_thing(struct watch_owner *owner, struct watch_owner_part *part, struct thing *thing);
void watch_owner_ask_again(struct watch_owner *owner, const struct watch_owner_part *part, uint64_t watcher,
                           int32_t route);

/* owner_rolls.c */
void watch_owner_roll_call(struct watch_owner *owner, struct watch_owner_part *part, uint64_t watcher,
                           struct watch_roll *roll);
void watch_owner_check(struct watch_owner *owner, struct watch_owner_part *part,
                       size_t *budget); /* what roll calls left unacknowledged */
void watch_owner_tick(struct watch_owner *owner, struct watch_owner_part *part, int64_t now_ms);
