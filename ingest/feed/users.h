/* A user as others see him: profile and counts, posts, followers, and whom he follows. */
#ifndef INGEST_FEED_USERS_H
#define INGEST_FEED_USERS_H

#include "ingest/endpoints.h"

extern const struct endpoint_list USERS_ENDPOINTS; /* state: struct feed_gateway */

#endif
