/* Shared by feed/feed*.c, topology.c, consequences.c and keeping.c. */
#pragma once

#include "base/loop.h"
#include "feed/blocks.h"
#include "feed/devices.h"
#include "feed/effects.h"
#include "feed/feed.h"
#include "feed/hot_posts.h"
#include "feed/notices_shown.h"
#include "feed/outbox.h"
#include "feed/pushing.h"
#include "feed/replies.h"
#include "feed/settings.h"
#include "feed/stores.h"
#include "feed/timeline_reader.h"
#include "feed/visibility.h"
#include "feed/watches.h"
#include "owner/settings.h"
#include "tasks/tasks.h"
#include "users/bans.h"

enum { FEED_TRIMMED = 64 };
enum { FEED_COLD_MS = 7 * 86400000 }; /* texts that are older are compressed harder: nearly nobody reads them */

struct feed {
    struct service *service;
    const struct feed_settings *settings;
    const struct owner_settings *owning;
    int32_t partitions, subject_partitions, routes;
    struct epochs *epochs;
    struct stores *stores; /* of the next two */
    struct relation_lists *relations;
    struct store *store; /* of posts, blocks and inboxes */
    struct ages *ages;
    struct posts *posts;
    struct table_store *blocks;
    struct visibility_store *visibility;
    struct bans *bans;
    struct names *names;
    struct notices *notices;
    struct notice_settings_store *notice_settings;
    struct directory_store *directory;
    struct device_store *devices;
    struct notices_shown notices_shown; /* of these */
    struct inboxes *inboxes;
    struct refusals *refusals;
    struct outbox *outbox;
    struct hot_posts *hot;
    struct hot *hot_lists;       /* its lists */
    const struct edited *edited; /* and its edits */
    struct effects *effects;
    struct timelines *timelines;
    struct watches *watches;
    struct pushing *pushing; /* NULL: nothing is pushed */
    struct feed_commands *commands;
    struct tasks *tasks;
    struct replies *replies;
    struct timeline_reader *reader;
    struct codec *codec;
    struct loop_timer *second, *tenth;
    bool started; /* the stores are open, and all parts are there */
    bool draining;
    struct {
        struct loop_timer *turn;
        bool turning, writing; /* the timer runs; inboxes are being written */
        int32_t cooling;       /* the partition whose old texts are being moved; -1: none is */
    } keeping;
    int64_t trimmed[FEED_TRIMMED]; /* users whose notices were looked through in this batch, by their hash; -1: none */
};

/* ---- feed_parts.c, feed_metrics.c ---- */

int feed_make_parts(struct feed *feed, struct error *error); /* on open stores, and begins */
void feed_metrics_start(struct feed *feed);

/* ---- topology.c ---- */

extern const struct tasks_product FEED_TOPOLOGY;
void feed_failed(void *feed, const char *doing, const struct error *error);
struct table_store *feed_blocks_new(struct feed *feed);
int feed_start_tasks(struct feed *feed, const struct owner_options *owner, int64_t max_age_ms, struct error *error);

/* ---- keeping.c ---- */

void feed_keep_start(struct feed *feed);
void feed_keep(struct feed *feed);      /* once a second */
void feed_go_on(struct feed *feed);     /* a slice of the pushes and answers that are under way */
void feed_turn_soon(struct feed *feed); /* calls feed_go_on soon */
void feed_stored(void *feed);           /* a batch of state: none of its notices' users was looked at yet */
