/* The sessions of an edge with nearby's modules, without sockets, Kafka or copies: what would be produced is kept, and the test
 * says who shares and whether a broker is there. */
#pragma once

#include "event/codec.h"
#include "fanout/nearby/optouts.h"
#include "fanout/nearby/uplink.h"
#include "fanout/nearby/view.h"
#include "fanout/sessions.h"

enum { WORLD_TOKEN_MS = 2000000000, WORLD_FLUSH_MS = 1000000000 };

struct fanout_world {
    uv_loop_t loop;
    struct metrics *metrics;
    struct fanout_settings settings;
    struct protocol_clock clock; /* the stream's: times in tests are small */
    struct screen_set screens;
    struct sessions *sessions;
    struct views *views;
    struct uplink *uplink;
    struct optouts *optouts;
    struct codec *codec;
    bool up, shares, shows_details;
    int refuse_after;      /* so many more records are taken; negative: any number */
    struct location *said; /* in order */
    size_t said_count, said_room;
};

struct fanout_world *fanout_world_new(void);
/* With so many partitions of `locations`, for which reports wait if there are many (uplink_gathering_ms); 0: they never do. */
struct fanout_world *fanout_world_of(int32_t partitions);
void fanout_world_free(void *world); /* with all its sessions; the end of a test does */

/* A session that said hello, with its place at 0, 0, at time 1, if it has a view. It is sent nothing. */
struct session *fanout_world_arrive(struct fanout_world *world, int64_t user, bool with_view);
struct view *fanout_world_view(const struct fanout_world *world, const struct session *session);
void fanout_world_report(struct fanout_world *world, struct session *session, int64_t time);
