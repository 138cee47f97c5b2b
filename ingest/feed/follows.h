/* Follows and mutes of the caller: PUT and DELETE. */
#ifndef INGEST_FEED_FOLLOWS_H
#define INGEST_FEED_FOLLOWS_H

#include "ingest/endpoints.h"

extern const struct endpoint_list FOLLOWS_ENDPOINTS; /* state: struct feed_gateway */

#endif
