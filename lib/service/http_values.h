/* Numbers in paths and query strings, as peers write them. Loop's thread. */
#ifndef SERVICE_HTTP_VALUES_H
#define SERVICE_HTTP_VALUES_H

#include <stdbool.h>

#include "service/http_request.h"

/* A whole number of the query string, from 0 to max; the fallback if it is absent. False: it is there, and no such number. */
bool http_query_number(const struct http_request *request, const char *name, int64_t fallback, int64_t max,
                       int64_t *value);

/* The path behind `start`; NULL: it begins otherwise. */
const char *http_path_behind(const struct http_request *request, const char *start);

/* The path's next part, up to / or its end, as a number from 0; moves *at behind it. False: it is no number. */
bool http_path_number(const char **at, int64_t *value);

#endif
