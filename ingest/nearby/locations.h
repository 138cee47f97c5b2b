/* POST /v1/locations: one report, or several; by their user, or by a gateway for anybody. All are checked before any is
 * produced. The body is JSON, or (Content-Type application/avro) a LocationReports in Confluent's wire format. */
#pragma once

#include "users/sharing_modes.h"
#include "ingest/endpoints.h"
#include "ingest/write.h"
#include "json/place.h"

struct locations_options {
    struct metrics *metrics;
    struct writer *writer;
    const struct sharing_modes *modes;
    size_t max_batch;
    int64_t user_rate, user_burst; /* of reports */
    struct place_times times;
};

struct locations;
struct locations *locations_new(const struct locations_options *options);
void locations_free(struct locations *locations); /* NULL is fine */

extern const struct endpoint_list LOCATIONS_ENDPOINTS; /* state: struct locations */
