/* Shared by comments/comments.c and comments/product.c. */
#ifndef COMMENTS_COMMENTS_PRIVATE_H
#define COMMENTS_COMMENTS_PRIVATE_H

#include "base/loop.h"
#include "comments/comments.h"
#include "comments/replies.h"
#include "comments/settings.h"
#include "comments/states.h"
#include "owner/settings.h"

struct comments {
    struct service *service;
    const struct comments_settings *settings;
    const struct owner_settings *owning;
    int32_t partitions, user_partitions, routes;
    struct epochs *epochs; /* the owner's */
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

#endif
