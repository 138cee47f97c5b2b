/* A user as others see him: profile and counts, posts, followers, and whom he follows. */
#pragma once

#include "ingest/endpoints.h"
#include "ingest/feed/parts.h"

extern const struct endpoint_list USERS_ENDPOINTS; /* state: struct feed_gateway */

/* Answers with the user: profile, handle and counts, and whether the reader (-1: nobody) follows or has asked to. handle NULL: the user is shown without counts if the owner is away. Else the user
 * was found by the handle: 404 if the user has another one, 503 if the owner is away. */
void users_show(struct feed_gateway *gateway, struct http_request *request, int64_t reader, int64_t user,
                const char *handle);
void users_none(struct http_request *request); /* 404: nobody has the handle */
