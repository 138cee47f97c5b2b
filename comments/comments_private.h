/* Between comments/comments.c, comments_store.c and product.c. */
#ifndef COMMENTS_COMMENTS_PRIVATE_H
#define COMMENTS_COMMENTS_PRIVATE_H

#include "base/loop.h"
#include "comments/comments.h"
#include "comments/replies.h"
#include "comments/settings.h"
#include "comments/states.h"
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
    struct comment_states *states;
    struct owner *owner;
    struct comment_replies *replies;
    struct loop_timer *second, *tenth;
    bool started; /* the store is open, and all parts are made */
    bool prepared, bans_read, draining;
    struct {
        struct metric *cache, *files;
    } metrics;
};

extern const struct owner_topic COMMENTS_TOPICS[];
extern const size_t COMMENTS_TOPIC_COUNT;
extern const struct owner_product COMMENTS_OWNED;

void comments_failed(void *comments, const char *doing, const struct error *error);
void comments_bans_are_read(void *comments);

/* Opens the store, and makes `threads`, once. 0: it is open; 1: a checkpoint is being copied, and comments_store_opened will be called;
 * negative: it cannot be opened. */
int comments_open_store(struct comments *comments, struct error *error);
void comments_store_opened(void *comments, int code, const struct error *error);
/* State that was last up to date longer ago is read anew. */
int64_t comments_max_age_ms(const struct comments *comments);

#endif
