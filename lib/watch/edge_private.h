/* Shared by the files of the edge's side. Private to lib/watch.
 *
 *     sessions:  session -> seat -> seat -> NULL                 names:  what -> shown
 *                            |                                            |
 *     shown   feed:7   [ seats <-> seat <-> seat ]   heard version        |
 *                ^                                                        |
 *     part 0  [ unwritten <-> shown ]  [ written <-> shown <-> shown ]  <-+     a shown is in one of the two,
 *             [ news <-> shown ]       [ reporting ]                            and in one of these, or in none
 *
 *     unwritten: its watch record or tombstone is to be written; news: the next roll call has something to say of it;
 *     reporting: this roll call is being written, and has not come to it
 */
#pragma once

#include "base/buffer.h"
#include "base/map.h"
#include "watch/edge.h"
#include "watch/list.h"
#include "watch/names.h"
#include "watch/records.h"

/* A thing that sessions of this edge show, or whose tombstone is still to be written. */
struct shown_thing {
    struct watch_name name; /* first: names.h */
    struct watch_link by_state, by_news, by_kept;
    struct watch_link seats;
    size_t seat_count;
    int32_t partition;
    int32_t written; /* the route in the watch record that stands; -1: none does */
    bool heard_any;  /* an owner has said a version, which is: */
    struct watch_version heard;
    struct buffer
        replay; /* its latest changes, each behind a struct replayed; each follows the one before it, the last one led to
                             `heard` */
};

/* Head of a change in `replay`; the content follows. */
struct replayed {
    struct watch_version since, version;
    size_t size;
};

/* One session that shows one thing. */
struct seat {
    struct watch_link in_shown;
    struct seat *next; /* of the session */
    struct shown_thing *shown;
    uint64_t session;
    bool knows; /* the page has the version `known`, or will have: the session was told so */
    struct watch_version known;
};

struct watch_edge_part {
    struct watch_link unwritten, written, news, reporting;
    struct watch_link in_busy; /* it has something to write */
    int64_t count;             /* watch records that stand */
    uint64_t hash;             /* of those */
    int64_t roll_calls;        /* records of roll calls written so far */
    bool roll_due, roll_begun;
    bool silent; /* the last roll call said that there is nothing, and that is still so */
};

struct watch_edge {
    struct watch_edge_options options;
    int32_t route;
    struct watch_edge_part *parts;
    struct watch_link busy;
    struct watch_link kept; /* things of which changes are kept; the newest change last */
    struct map *names, *sessions;
    int64_t started_ms; /* the moment of the first roll call of partition 0 */
    int64_t rolls;      /* roll calls that were due so far, of all partitions */
    uint64_t random;
    struct buffer scratch; /* a record that is being written */

    /* Deliveries that wait: size (4 bytes, little-endian) | payload, again and again, from queue_start on. */
    struct buffer queue;
    size_t queue_start;
    uint64_t queued, told; /* so many were put into it, and are told to the end: numbers of their traces */
    struct trace_scope traced;
    bool is_traced; /* the delivery that is being told */
    /* The delivery that is being told: of that thing, NULL: of none; the next seat to tell; how many seats share the time
     * over which stale pages are spread. */
    struct shown_thing *telling;
    struct watch_link *next_seat;
    size_t telling_seats;
    uint64_t serial; /* of contents: each delivery and each change that is told again has the next one */
    uint64_t telling_serial,
        announced; /* of the delivery that is being told; of the content that the product was given */
    struct watch_edge_stats stats;
};

/* edge_telling.c */
void watch_edge_tell_second(struct watch_edge *edge, struct seat *seat); /* the session said which version it has */
void watch_edge_announce(struct watch_edge *edge, uint64_t serial, const void *content, size_t size);
size_t watch_edge_tell(struct watch_edge *edge, size_t budget); /* deliveries that wait; returns what is left of it */
void watch_edge_forget_seat(struct watch_edge *edge, struct seat *seat); /* it goes away: telling goes on without it */

/* edge_replay.c */
void watch_edge_keep(struct watch_edge *edge, struct shown_thing *shown, const struct watch_delivery *delivery);
void watch_edge_drop_kept(struct watch_edge *edge, struct shown_thing *shown);
/* Tells the session the kept changes that follow its page's version, if they lead to the version that was heard. False: they do not. */
bool watch_edge_replay(struct watch_edge *edge, struct seat *seat);

/* edge_writing.c */
void watch_edge_unwritten(struct watch_edge *edge,
                          struct shown_thing *shown); /* its record or tombstone is to be written */
void watch_edge_all_unwritten(struct watch_edge *edge, int32_t partition);
void watch_edge_news(struct watch_edge *edge,
                     struct shown_thing *shown); /* the next roll call acknowledges its version */
void watch_edge_roll_calls_due(struct watch_edge *edge, int64_t now_ms);
int64_t watch_edge_next_roll_call_ms(const struct watch_edge *edge);
int watch_edge_write(struct watch_edge *edge, size_t *budget); /* 0, or -EAGAIN: the caller has no room */

/* edge.c */
void watch_edge_shown_free(struct watch_edge *edge, struct shown_thing *shown);
