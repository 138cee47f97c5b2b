/* Requests about one post, for the files of endpoints of posts. Loop's thread. */
#pragma once

#include "ingest/feed/parts.h"

/* A request about a post, while its author's owner is asked who wrote it, and then how many comments it has. */
struct post_request {
    struct feed_gateway *gateway;
    struct http_request *request;
    struct auth_claims claims; /* of the caller */
    int64_t id;
    /* What is done with the post that was found, or with null. */
    void (*found)(struct post_request *asked, json_t *post);
    json_t *post; /* that is read, from its owner's answer on */
};

/* Asks the author's owner for the post that the path names. */
void post_ask(struct feed_gateway *gateway, const struct call *call,
              void (*done)(struct post_request *asked, json_t *post));
bool post_may_be_there(const struct feed_gateway *gateway, const struct call *call); /* false: nobody can have made it */

/* Each answers: with the post, as its owner says it; 404; 403. */
void post_reply(struct feed_gateway *gateway, struct http_request *request, unsigned status, const json_t *post);
void post_none(struct http_request *request);
void post_not_yours(struct http_request *request);
