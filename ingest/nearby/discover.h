/* GET /v1/discover: strangers nearby, as the router that owns the caller lists them. Both sides must share publicly: the caller, and
 * each user of the list, by this gateway's own copy of sharing. So whoever has been answered that sharing is off is in no later answer
 * of the same gateway. */
#ifndef INGEST_NEARBY_DISCOVER_H
#define INGEST_NEARBY_DISCOVER_H

#include "ingest/endpoints.h"
#include "service/peers.h"
#include "users/user_copies.h"

struct discover_page;

struct discover_page_options {
    struct peers *routers;      /* outlive it */
    struct user_copies *copies; /* outlive it */
};

struct discover_page *discover_page_new(const struct discover_page_options *options);
void discover_page_free(struct discover_page *page); /* after the routers; NULL is fine */

extern const struct endpoint_list DISCOVER_ENDPOINTS; /* state: struct discover_page */

#endif
