/* GET /v1/nearby: the friends who are near the caller now, for callers without a socket. The caller's router makes the list; this side
 * leaves out friends who have opted out, as the edges do (docs/EXACTNESS.md, rule 6), and adds profiles. */
#ifndef INGEST_NEARBY_NEAR_H
#define INGEST_NEARBY_NEAR_H

#include "ingest/product.h"
#include "service/peers.h"

struct near_lists;

/* The routers, and what the options name, outlive it. wall_clock: a `since` ahead of this machine's clock is refused. */
struct near_lists *near_lists_new(const struct product_options *options, struct peers *routers, bool wall_clock);
void near_lists_free(struct near_lists *lists); /* NULL is fine */

extern const struct endpoint_list NEAR_ENDPOINTS; /* state: struct near_lists */

#endif
