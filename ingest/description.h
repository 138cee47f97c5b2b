/* GET /v1/openapi.yaml: the description of the HTTP API, docs/openapi.yaml as it was when this program was built. */
#pragma once

#include "ingest/endpoints.h"

extern const struct endpoint_list DESCRIPTION_ENDPOINTS; /* state: none */
