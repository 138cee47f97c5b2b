/* Requests about one post, for the files of endpoints of posts. Loop's thread. */
#pragma once

#include "ingest/feed/parts.h"

struct post_request;

/* Goes on with the post that was found, or with null. The request is the function's. */
typedef void post_found(struct post_request *asked, json_t *post);

/* A request about a post, while its author's owner is asked who wrote it. */
struct post_request {
    struct feed_gateway *gateway;
    struct http_request *request;
    struct auth_claims claims; /* of the caller */
    int64_t id;
    post_found *found;
    void (*seen)(struct post_request *asked); /* the caller may see it */
    json_t *post;                             /* that is edited, from its owner's answer on */
};

/* Asks whether the caller may see the post that the path names, and calls `seen` if so; else `found` with null, or answers that the owner is
 * away. */
void post_ask_may(struct feed_gateway *gateway, const struct call *call, void (*seen)(struct post_request *asked),
                  post_found *found);
/* The same, and then asks the author's owner for the post. */
void post_ask(struct feed_gateway *gateway, const struct call *call, post_found *done);

/* The parts of these, for a moderator, who needs to see nothing: post_find asks the author's owner for the post. */
struct post_request *post_request_new(struct feed_gateway *gateway, const struct call *call, post_found *done);
void post_find(struct post_request *asked);

/* False: no process can ever have made a post of that id, so that none can be asked for it. */
bool post_may_be_there(const struct feed_gateway *gateway, int64_t id);

struct post_reader {
    int64_t user;
    bool moderates; /* and is answered what he has done, whether he may see it or not */
};

/* Answers with the post, as its owner says it, and with the numbers of its comments and likes, if the reader may see it. post: is taken. */
void post_show(struct feed_gateway *gateway, struct http_request *request, const struct post_reader *reader,
               unsigned status, json_t *post);

/* Each answers: 404; 403. */
void post_none(struct http_request *request);
void post_not_yours(struct http_request *request);
