/* The state that all endpoints of the feed share. Loop's thread. */
#ifndef INGEST_FEED_PARTS_H
#define INGEST_FEED_PARTS_H

#include "base/chance.h"
#include "ingest/command.h"
#include "ingest/feed/comment_counts.h"
#include "posts/texts.h"
#include "service/peers.h"
#include "users/user_copies.h"

struct feed_gateway {
    struct command_sender sender;
    struct user_copies *copies;
    struct peers *owners;          /* the feed processes */
    struct peers *comments;        /* the comments processes */
    struct texts *texts;           /* of posts, for pages of home timelines */
    struct comment_counts *counts; /* of posts, for all pages */
    int32_t partitions;            /* of users */
    struct chance chance;
};

static inline void feed_write_start(struct feed_gateway *gateway, const struct command_write *write) {
    command_send(&gateway->sender, write);
}

/* Answers 503: the owner who has the answer is away. */
void feed_owner_away(struct http_request *request);

#endif
