/* Friends whom the caller does not want to see nearby: PUT, DELETE and GET /v1/nearby/mutes. One user's wish about the own list, so that no
 * owner decides about it: the gateway writes the record. Loop's thread. */
#ifndef INGEST_NEARBY_MUTES_H
#define INGEST_NEARBY_MUTES_H

#include "ingest/product.h"

struct nearby_mutes;

struct nearby_mutes *nearby_mutes_new(const struct product_options *options);
void nearby_mutes_free(struct nearby_mutes *mutes); /* NULL is fine */

extern const struct endpoint_list NEARBY_MUTES_ENDPOINTS; /* state: struct nearby_mutes */

#endif
