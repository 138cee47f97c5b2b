/* POST /v1/locations: one report, or several; by their user, or by a gateway for anybody. All are checked before any is
 * produced. The body is JSON, or (Content-Type application/avro) a LocationReports in Confluent's wire format. */
#pragma once

#include "ingest/endpoints.h"

struct json_place;
struct locations;
struct nearby_gateway;
struct locations *locations_new(const struct nearby_gateway *nearby);
void locations_free(struct locations *locations); /* NULL is fine */

/* Writes one report of the caller. `done` answers the request: at once with code 1 if the caller shares with nobody, who is nowhere then, or
 * when the report cannot be taken (-EINVAL); else when it is written, with 0, or cannot be, with the code of a write_problem. A caller who
 * reports too fast is answered here. */
typedef void locations_done(void *context, const struct call *call, int code);
void locations_report(struct locations *locations, const struct call *call, const struct json_place *place,
                      void *context, locations_done *done);

extern const struct endpoint_list LOCATIONS_ENDPOINTS; /* state: struct locations */
