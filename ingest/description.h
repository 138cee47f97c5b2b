/* GET /v1/openapi.yaml: the description of the HTTP API, docs/openapi.yaml as it was when this program was built. */
#ifndef INGEST_DESCRIPTION_H
#define INGEST_DESCRIPTION_H

#include "ingest/endpoints.h"

extern const struct endpoint_list DESCRIPTION_ENDPOINTS; /* state: none */

#endif
