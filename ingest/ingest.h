/* starling-ingest, the HTTP gateway: reports, profiles, sharing and friend commands onto Kafka; reads from their owners
 * (DESIGN 6, docs/openapi.yaml). */
#ifndef INGEST_INGEST_H
#define INGEST_INGEST_H

#include "service/service.h"

extern const struct service_definition INGEST_SERVICE;

#endif
