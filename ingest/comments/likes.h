/* The reader's own likes of the comments of an answer, asked of the subject's owner. Loop's thread. */
#ifndef INGEST_COMMENTS_LIKES_H
#define INGEST_COMMENTS_LIKES_H

#include "ingest/comments/parts.h"

struct likes_wish {
    const char *subject; /* copied */
    int64_t user;
    const struct shown_comments *shown; /* lives until done */
    void *context;
    /* Called once. liked: ids, rising; NULL: the owner did not answer. */
    void (*done)(void *context, const int64_t *liked, size_t count);
};

void likes_ask(struct comments_gateway *gateway, const struct likes_wish *wish);

#endif
