/* A request with who sent it, as endpoints see it; and what many endpoints do first. The functions that return false, NULL or -1
 * have answered the request. Loop's thread. */
#pragma once

#include "ingest/path.h"
#include "json/json.h"
#include "service/auth.h"
#include "service/http.h"

/* Lives until the request is answered. */
struct call {
    struct http_request *request;
    struct auth_claims claims;                 /* user -1 where the endpoint needs no token, or the token names none */
    struct path_value values[PATH_VALUES_MAX]; /* the path's parameters, in order */
    uint64_t address;                          /* where it comes from, as budget/network.h has it */
};

/* Parses the body as a JSON object of a few members. Free with json_decref. */
json_t *call_body(const struct call *call);
/* The same for one of up to so many values and members. */
json_t *call_body_within(const struct call *call, size_t values);

/* A whole number of the query string, from 0; *value unchanged if absent. */
bool call_query_int(const struct call *call, const char *name, int64_t *value);

/* The same, and from min to max: 400 bad_query says so, and what the value is. */
bool call_query_range(const struct call *call, const char *name, int64_t min, int64_t max, int64_t *value);

/* The range of times of a list, "from" and "to": 400 bad_query if it ends before it begins. It may be empty. *from and *to unchanged if
 * absent. */
bool call_query_times(const struct call *call, int64_t *from, int64_t *to);

/* The cursor of a list that goes by ids (ids/ids.h): 400 bad_query if it is no cursor. *id unchanged if absent. */
bool call_query_id(const struct call *call, const char *name, int64_t *id);

/* Ids above one (0: all) and below one (INT64_MAX: all). */
struct id_range {
    int64_t above, before;
};

/* The part of such a list that "from" (which belongs to it), "to" (which does not) and "after" leave. It may be empty. */
bool call_query_ids_of_times(const struct call *call, struct id_range *range);
