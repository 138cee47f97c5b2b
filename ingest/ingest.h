/* starling-ingest, the HTTP gateway: writes records to Kafka, and asks the owners of state for answers. docs/openapi.yaml describes its
 * API. */
#ifndef INGEST_INGEST_H
#define INGEST_INGEST_H

#include "service/service.h"

extern const struct service_definition INGEST_SERVICE;

#endif
