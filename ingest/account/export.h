/* GET /v1/export: everything that is kept of the caller, in pages. The first page is the account itself; then come the kinds of
 * users/belongings.h in their order, each from its own owner, as the owner says it. A page is held in memory, and nothing else is. */
#ifndef INGEST_ACCOUNT_EXPORT_H
#define INGEST_ACCOUNT_EXPORT_H

#include "ingest/endpoints.h"

extern const struct endpoint_list EXPORT_ENDPOINTS; /* state: a struct account_gateway */

#endif
