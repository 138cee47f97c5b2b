/* Searches of peers, done by threads of their own, each with its reader of the index. Loop's thread. */
#pragma once

#include "base/log.h"
#include "base/metrics.h"
#include "event/codec.h"
#include "moderation/search.h"
#include "service/http.h"

struct searches;

struct searches_options {
    uv_loop_t *loop;
    const struct index *index; /* outlives the searches */
    int readers;
    int64_t cache, limit_ms; /* bytes of each reader; of a search, from its request */
    struct metrics *metrics;
    struct log *log;
    void *context;
    void (*on_damaged)(void *context); /* a search found the index's file damaged; called for each such search */
};

struct searches *searches_new(const struct searches_options *options);
void searches_free(struct searches *searches);       /* not while busy; NULL is fine */
bool searches_busy(const struct searches *searches); /* a thread is at it */

/* Searches, and answers the request: 200 {items, next}; 400 no_words; 503 search_too_slow or busy; 500. Copies the query. */
void searches_ask(struct searches *searches, const struct search_query *query, struct http_request *request);

void searches_ask_people(struct searches *searches, const struct people_query *query, struct http_request *request);

/* A post that a search found: {id, user, text, media, time, version, edited, state, reports}. Of people: {user, reports, time, reason}. */
void found_post_json_put(struct buffer *out, const struct index_row *row);
/* A comment that a search found, as peers get it: {id, user, text, time, floor, root, reply_to, likes, reply_count, replies: [], state,
 * subject, reports}. text is null for a deleted comment; root and reply_to are null for roots. */
void found_json_put(struct buffer *out, const struct comment_wide *comment);
