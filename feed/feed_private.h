/* Shared by feed/feed*.c and feed/product.c. */
#ifndef FEED_FEED_PRIVATE_H
#define FEED_FEED_PRIVATE_H

#include "base/loop.h"
#include "feed/timeline_reader.h"
#include "feed/replies.h"
#include "feed/feed.h"
#include "feed/hot_posts.h"
#include "feed/partitions.h"
#include "feed/settings.h"
#include "feed/stores.h"
#include "owner/settings.h"

struct feed {
    struct service *service;
    const struct feed_settings *settings;
    const struct owner_settings *owning;
    int32_t partitions, routes;
    struct epochs *epochs;
    struct stores *stores; /* of the next two */
    struct relation_lists *relations;
    struct store *store; /* of posts, blocks and inboxes */
    struct ages *ages;
    struct posts *posts;
    struct table_store *blocks;
    struct names *names;
    struct notices *notices;
    struct inboxes *inboxes;
    struct refusals *refusals;
    struct outbox *outbox;
    struct hot_posts *hot;
    struct effects *effects;
    struct timelines *timelines;
    struct watches *watches;
    struct feed_commands *commands;
    struct partitions *state;
    struct owner *owner;
    struct replies *replies;
    struct timeline_reader *reader; /* of requests */
    struct loop_timer *second, *tenth;
    bool started; /* the stores are open, and all parts are there */
    bool prepared, hot_read, draining;
    struct {
        struct metric *inboxes, *unwritten, *entries, *dropped, *pushes, *requests, *cache, *files, *rows, *hits,
            *misses;
    } metrics;
};

extern const struct owner_topic FEED_TOPICS[];
extern const size_t FEED_TOPIC_COUNT;
extern const struct owner_product FEED_OWNED;

void feed_failed(void *feed, const char *doing, const struct error *error);
void feed_hot_is_read(void *feed);
int feed_make_parts(struct feed *feed, struct error *error); /* on open stores, and begins; feed/feed_parts.c */
void feed_metrics_start(struct feed *feed);                  /* feed/feed_metrics.c */

#endif
