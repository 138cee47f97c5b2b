/* starling-ingest, the HTTP gateway: writes onto Kafka, and reads from those who own what is asked for. docs/openapi.yaml describes
 * what it answers. */
#ifndef INGEST_INGEST_H
#define INGEST_INGEST_H

#include "service/service.h"

extern const struct service_definition INGEST_SERVICE;

#endif
