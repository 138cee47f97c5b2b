/* Between feed/answers*.c. */
#ifndef FEED_ANSWERS_PRIVATE_H
#define FEED_ANSWERS_PRIVATE_H

#include "base/map.h"
#include "feed/answers.h"
#include "feed/page.h"

enum { ANSWERS_LIMIT_DEFAULT = 20, ANSWERS_LIMIT_MAX = 1100 };

struct outcome_wait;

struct answers {
    struct answers_options options;
    struct page_scratch *scratch;
    struct page page;
    struct inbox inbox;
    struct id_list following, muted;
    struct codec *codec;
    struct buffer text, body;
    struct map *begun;            /* readers for whom a Begin is under way -> when it was sent (ms, monotonic) */
    struct outcome_wait *waiting; /* questions that wait for state, in no order */
};

/* 0: the partition's questions are answered here. Else the request was answered. */
int answers_refused(struct answers *answers, struct http_request *request, int32_t partition);
void answers_bad_query(struct http_request *request);
void answers_store_failed(struct http_request *request, const struct error *error);

/* Appends a post as the API has it, but for the author's name: 1; 0: there is none; or a negative code. */
int answers_put_post(struct answers *answers, int32_t partition, const struct post_found *post, struct buffer *body,
                     struct error *error);
void answers_put_id(struct buffer *body, int64_t id);                                     /* quoted */
void answers_put_refs(struct buffer *body, const struct inbox_post *posts, size_t count); /* "posts": [{id, user}] */

int32_t answers_partition(const struct answers *answers, int64_t user);
bool answers_limit(const struct http_request *request, int64_t *limit); /* false: out of range */

/* An answer is written into answers->body, from answers_start on; answers_reply sends it. */
void answers_start(struct answers *answers, const char *text);
void answers_reply(struct answers *answers, struct http_request *request);

void answers_posts(struct answers *answers, struct http_request *request, int32_t partition);
void answers_written(struct answers *answers, struct http_request *request, int64_t user);
void answers_older(struct answers *answers, struct http_request *request, int32_t partition);

/* A page of the home timeline; it waits a moment for an inbox that begins just now. */
void answers_feed(struct answers *answers, struct http_request *request, int64_t user);
/* Answers the page if its inbox is complete, or if last. False: it is not. */
bool answers_feed_now(struct answers *answers, struct http_request *request, int64_t user, int64_t before, size_t limit,
                      bool last);

/* What /peer/relation, /peer/posted and /peer/gone lead to; false: no such path. */
bool answers_outcome(struct answers *answers, struct http_request *request);
/* Has the page answered when its inbox is complete, or in vain at the deadline. */
void answers_wait_feed(struct answers *answers, struct http_request *request, int64_t user, int64_t before,
                       size_t limit);
void answers_waiting_free(struct answers *answers);

#endif
