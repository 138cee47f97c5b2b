/* A comments process, as its parts see it: what they share. Loop's thread. */
#pragma once

#include "base/loop.h"
#include "users/bans.h"
#include "comments/comments.h"
#include "comments/edges.h"
#include "comments/replies.h"
#include "comments/settings.h"
#include "comments/thread_watches.h"
#include "owner/checkpoints.h"
#include "owner/settings.h"
#include "users/profiles.h"

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
    struct profiles *profiles;
    struct copies *copies; /* of the two */
    struct comment_commands *commands;
    struct edges *edges;
    struct thread_watches *watches;
    struct tasks *tasks;
    struct comment_replies *replies;
    struct loop_timer *second, *tenth;
    bool started; /* the store is open, and all parts are made */
    bool draining;
};
