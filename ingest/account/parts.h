/* The state that all endpoints of accounts share, and the processes that they ask. Loop's thread. */
#pragma once

#include "base/chance.h"
#include "ingest/endpoints.h"
#include "rpc/ask.h"
#include "service/seal.h"
#include "users/belongings.h"
#include "users/user_copies.h"

struct account_gateway {
    struct user_copies *copies;
    struct writer *writer;
    struct peers *owners[BELONGING_OWNERS];
    int32_t subjects; /* partitions of subjects */
    struct erasing *erasing;
    struct chance chance;
    struct seal cursors; /* of exports: places among the rows of all users */
};

/* GET /v1/export: everything that is kept of the caller, in pages. The first page is the account itself; then come the kinds of
 * users/belongings.h in their order, each from its own owner, as the owner says it. A page is held in memory, and nothing else is. */
extern const struct endpoint_list EXPORT_ENDPOINTS; /* state: struct account_gateway */

/* GET /v1/devices, DELETE /v1/devices/{id}: the caller's sessions. */
extern const struct endpoint_list DEVICES_ENDPOINTS; /* the same state */
