/* GET /v1/notices: the caller's notices, as the user's owner answers them. */
#ifndef INGEST_FEED_NOTICES_H
#define INGEST_FEED_NOTICES_H

#include "ingest/endpoints.h"

extern const struct endpoint_list NOTICES_ENDPOINTS; /* state: struct feed_gateway */

#endif
