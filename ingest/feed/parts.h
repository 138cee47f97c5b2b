/* The state that all endpoints of the feed share. Loop's thread. */
#ifndef INGEST_FEED_PARTS_H
#define INGEST_FEED_PARTS_H

#include "base/chance.h"
#include "ingest/write.h"
#include "posts/texts.h"
#include "service/peers.h"
#include "users/user_copies.h"

struct feed_gateway {
    struct writer *writer;
    struct user_copies *copies;
    struct peers *owners; /* the feed processes */
    struct texts *texts;  /* of posts, for pages of home timelines */
    int32_t partitions;   /* of users */
    int64_t outcome_wait_ms;
    struct chance chance;
    struct metric *commands;
};

/* Answers 503: the owner who has the answer is away. */
void feed_owner_away(struct http_request *request);

#endif
