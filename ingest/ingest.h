/* starling-ingest, the HTTP gateway: writes records to Kafka, and asks the owners of state for answers. docs/openapi.yaml describes its
 * API. */
#pragma once

#include "service/service.h"

extern const struct service_definition INGEST_SERVICE;
