/* GET /v1/history: the caller's own reports, read out by the sink that owns them. */
#ifndef INGEST_NEARBY_HISTORY_H
#define INGEST_NEARBY_HISTORY_H

#include "ingest/endpoints.h"

extern const struct endpoint_list HISTORY_ENDPOINTS; /* state: struct peers, the sinks */

#endif
