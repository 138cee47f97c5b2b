/* GET /v1/audience: who can see the caller now. The caller's router makes the page; this side leaves out friends who have opted out, as the
 * router hears of that later (docs/EXACTNESS.md, rule 6). */
#ifndef INGEST_NEARBY_AUDIENCE_H
#define INGEST_NEARBY_AUDIENCE_H

#include "ingest/product.h"
#include "service/peers.h"

struct audience_pages;

/* The routers, and what the options name, outlive it. */
struct audience_pages *audience_pages_new(const struct product_options *options, struct peers *routers);
void audience_pages_free(struct audience_pages *pages); /* NULL is fine */

extern const struct endpoint_list AUDIENCE_ENDPOINTS; /* state: struct audience_pages */

#endif
