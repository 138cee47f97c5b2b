/* The state that all endpoints of the feed share. Loop's thread.
 *
 *     posts.c    a post: made, read, deleted; post_edits.c, post_states.c
 *     follows.c  follows and mutes of the caller: PUT and DELETE
 *     users.c    a user as others see him                   home.c     home timelines
 *     handles.c  PUT and DELETE of the caller's own handle, and GET of the user who has one:
 *
 *         PUT --> name-commands: WISH --> the user's owner <--> the handle's owner (feed/names_rules.h)
 *                                                v
 *                                         granted: 200; taken: 409; not in time: 202
 *
 *         GET --> the handle's owner: who has it --> the user's owner: is it the handle that counts? --> the user, or 404
 */
#pragma once

#include "base/chance.h"
#include "ingest/write.h"
#include "ingest/endpoints.h"
#include "ingest/feed/comment_counts.h"
#include "ingest/feed/shared_answers.h"
#include "ingest/owners.h"
#include "posts/texts.h"
#include "rpc/ask.h"
#include "users/user_copies.h"

/* The section of the gateway's configuration: values of FEED_GATEWAY_SECTION (ingest/products.h). */
struct feed_gateway_settings {
    const char *group;
    int64_t texts_mb, texts_s, copies_reads, copies_mb;
};

struct feed_gateway {
    struct command_sender sender;
    struct user_copies *copies;
    struct peers *owners;          /* the feed processes */
    struct peers *comments;        /* the comments processes */
    struct sights *sights;         /* who may see whose posts */
    struct texts *texts;           /* of posts, for pages of home timelines */
    struct comment_counts *counts; /* of posts, and their likes, for all pages */
    struct shared_answers *shared; /* about one user or post */
    int32_t partitions;            /* of users */
    struct text_filter *filter;
    struct chance chance;
};

static inline void feed_write_start(struct feed_gateway *gateway, const struct command_write *write) {
    command_send(&gateway->sender, write);
}

enum { FEED_RETRY_AFTER_S = 1 };

/* Answers 503: the owner who has the answer is away. */
static inline void feed_owner_away(struct http_request *request) { owners_away(request, FEED_RETRY_AFTER_S); }

/* Their state is struct feed_gateway. */
extern const struct endpoint_list POSTS_ENDPOINTS, POST_EDITS_ENDPOINTS, POST_STATES_ENDPOINTS, FOLLOWS_ENDPOINTS,
    FOLLOWERS_ENDPOINTS, HANDLES_ENDPOINTS, FEED_NOTICES_ENDPOINTS;
