/* Answers that come from the owner of a key, passed on to the client. Loop's thread. */
#ifndef INGEST_OWNERS_H
#define INGEST_OWNERS_H

#include "json/json.h"
#include "rpc/ask.h"
#include "service/http.h"

/* Asks, and answers the request with what the owner says: 200 as it is; 400 bad_query; anything else, or no answer, is 503
 * owner_unavailable. */
void owners_pass_on(struct peers *peers, const struct rpc_question *question, const struct rpc_value *values,
                    int timeout_ms, struct http_request *request);

/* A question about a user to the user's owner, whose page is not passed on as it is. */
struct owners_question {
    struct peers *owners;
    struct http_request *request;
    int64_t user;
    int timeout_ms;
    void *context; /* of the functions; outlives the owners */
    /* Appends the answer's body, which is made of the owner's page. False: the owner is of another version and means something else, which
     * is answered as if it had not answered. */
    bool (*put)(void *context, int64_t user, struct buffer *body, const json_t *page);
    /* Answers the request where the page does not count. status: the owner's; 0: there is no answer. False: the request is not answered.
     * NULL: the page always counts. */
    bool (*refuse)(void *context, int64_t user, struct http_request *request, unsigned status);
};

/* Asks, and answers 200 with what `put` has made; all else as owners_pass_on does. */
void owners_ask(const struct owners_question *wanted, const struct rpc_question *question,
                const struct rpc_value *values);

/* For code that asks an owner itself: whether it answered 200. If not, the request is answered as above. */
bool owners_answered(struct http_request *request, int code, unsigned status);

/* Answers 503 owner_unavailable: the owner is away. */
void owners_away(struct http_request *request, int retry_after_s);

#endif
