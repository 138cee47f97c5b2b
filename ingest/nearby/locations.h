/* POST /v1/locations: one report, or several; by their user, or by a gateway for anybody. All are checked before any is
 * produced. The body is JSON, or (Content-Type application/avro) a LocationReports in Confluent's wire format. */
#pragma once

#include "ingest/endpoints.h"

struct locations;
struct nearby_gateway;
struct locations *locations_new(const struct nearby_gateway *nearby);
void locations_free(struct locations *locations); /* NULL is fine */

extern const struct endpoint_list LOCATIONS_ENDPOINTS; /* state: struct locations */
