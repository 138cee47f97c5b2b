/* A post: made, read, deleted. */
#ifndef INGEST_FEED_POSTS_H
#define INGEST_FEED_POSTS_H

#include "ingest/endpoints.h"

extern const struct endpoint_list POSTS_ENDPOINTS; /* state: struct feed_gateway */

#endif
