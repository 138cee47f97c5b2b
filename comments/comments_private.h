/* Between comments/comments.c, comments_store.c and topology.c; of its parts, commands.c and thread_watches.c look at it. */
#pragma once

#include "base/loop.h"
#include "comments/bans.h"
#include "comments/comments.h"
#include "comments/edges.h"
#include "comments/replies.h"
#include "comments/settings.h"
#include "comments/thread_watches.h"
#include "owner/checkpoints.h"
#include "owner/settings.h"

struct comments {
    struct service *service;
    const struct comments_settings *settings;
    const struct owner_settings *owning;
    int32_t partitions, user_partitions, routes;
    struct epochs *epochs; /* the owner's */
    struct checkpoints *checkpoints;
    struct store *store;
    struct threads *threads;
    struct kafka_producer *dead_letters;
    struct bans *bans;
    struct copies *copies; /* of bans */
    struct comment_commands *commands;
    struct edges *edges;
    struct thread_watches *watches;
    struct tasks *tasks;
    struct comment_replies *replies;
    struct loop_timer *second, *tenth;
    bool started; /* the store is open, and all parts are made */
    bool draining;
};

enum { COMMENTS_THREADS, COMMENTS_WATCHES, COMMENTS_STORES }; /* the order of the topology's stores */
extern const struct tasks_product COMMENTS_TOPOLOGY;

void comments_failed(void *comments, const char *doing, const struct error *error);

/* Opens the store, and makes `threads`, once. 0: it is open; 1: a checkpoint is being copied, and comments_store_opened will be called;
 * negative: it cannot be opened. */
int comments_open_store(struct comments *comments, struct error *error);
void comments_store_opened(void *comments, int code, const struct error *error);
/* State that was last up to date longer ago is read anew. */
int64_t comments_max_age_ms(const struct comments *comments);
