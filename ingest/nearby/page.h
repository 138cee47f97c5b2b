/* GET /v1/config: what the web page must know before anybody has signed in. */
#ifndef INGEST_NEARBY_PAGE_H
#define INGEST_NEARBY_PAGE_H

#include "ingest/nearby/settings.h"
#include "ingest/endpoints.h"

struct page_config;
struct page_config *page_config_new(const struct nearby_settings *settings, double radius_m);
void page_config_free(struct page_config *page); /* NULL is fine */

extern const struct endpoint_list PAGE_ENDPOINTS; /* state: struct page_config */

#endif
