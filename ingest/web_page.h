/* The web page as the gateway serves it: its files, its map, the policy on images that browsers hold it to, and GET /v1/config, which
 * tells what the page must know before anybody has signed in. Loop's thread. */
#pragma once

#include "ingest/endpoints.h"
#include "ingest/settings.h"

/* Refuses settings with which there would be no page, or no map. */
int web_page_check(const struct ingest_settings *settings, struct error *error);

struct web_page;

struct web_page *web_page_new(const struct ingest_settings *settings,
                              double radius_m); /* of settings that web_page_check has passed */
void web_page_free(struct web_page *page);      /* NULL is fine */

extern const struct endpoint_list WEB_PAGE_ENDPOINTS; /* state: struct web_page */

/* Answers GET, HEAD and OPTIONS for all paths but those of the API. False: the request is not for the page, and not answered. */
bool web_page_serve(const struct web_page *page, struct http_request *request);
