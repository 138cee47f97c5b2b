/* The table of everything that the gateway answers: products add their endpoints, requests find them, and each answer is counted by
 * endpoint and status, with how long it took. Loop's thread. */
#pragma once

#include "base/metrics.h"
#include "ingest/call.h"

/* An endpoint is called only if this holds; the gateway answers otherwise. */
enum needs {
    NEEDS_NOTHING,  /* not even a token */
    NEEDS_TOKEN,    /* of anybody: 401 */
    NEEDS_PASSWORD, /* the token of a user, which may be the password of Authorization: Basic */
    NEEDS_USER,     /* that names a user: 403 not_a_user */
    NEEDS_GATEWAY,  /* with scope gateway: 403 gateways_only */
    NEEDS_MODERATOR /* with scope moderator, that names a user: 403 moderators_only */
};

struct endpoint {
    const char *method;  /* "GET" is called for HEAD too */
    const char *pattern; /* as ingest/path.h has it */
    /* Answers call->request, now or later. */
    void (*handle)(void *state, const struct call *call);
    enum needs needs;
};

struct endpoint_list {
    const struct endpoint *items;
    size_t count;
};

struct endpoints;

struct endpoints *endpoints_new(struct metrics *metrics);
void endpoints_free(struct endpoints *endpoints); /* NULL is fine */

/* The list must outlive the table. state: of handle. ready(of): whether they can answer yet, else they get 503; NULL: they can. */
void endpoints_add(struct endpoints *endpoints, const struct endpoint_list *list, void *state,
                   bool (*ready)(const void *of), const void *of);

/* The endpoint that a request's method and path lead to, or the reason why they lead to none. A path that is a pattern itself
 * ("/v1/follows/requests") matches no other ("/v1/follows/{user}"). */
struct endpoint_match {
    enum { MATCH_FOUND, MATCH_EXTERNAL, MATCH_BAD_VALUE, MATCH_BAD_METHOD, MATCH_UNKNOWN } kind;
    const struct endpoint *
        endpoint; /* FOUND, EXTERNAL and BAD_VALUE; values then hold the path's parameters, or error what is wrong. EXTERNAL has both */
    void *state;
    bool ready;
    struct path_value values[PATH_VALUES_MAX];
    const char *wrong; /* EXTERNAL and BAD_VALUE: the problem's code */
    struct error error;
    char allowed[64]; /* BAD_METHOD: the methods of the path and OPTIONS, for Allow */
};
void endpoints_find(struct endpoints *endpoints, struct http_request *request, struct endpoint_match *match);

/* "POST /v1/posts": the method and the route that a request led to, for people. Valid as long as the table. */
const char *endpoints_name(const struct endpoints *endpoints, const struct http_request *request);

/* The request has been answered with that status. */
void endpoints_count(struct endpoints *endpoints, const struct http_request *request, unsigned status);
