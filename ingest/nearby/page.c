#include "ingest/nearby/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct page_config {
    struct buffer config; /* the same for everybody */
};

struct page_config *page_config_new(const struct nearby_settings *settings, double radius_m) {
    struct page_config *page = mem_zero(1, sizeof *page);
    buffer_string(&page->config, "{\"ws_url\":");
    json_put_text(&page->config, settings->web_ws_url, strlen(settings->web_ws_url));
    buffer_string(&page->config, ",\"tile_url\":");
    json_put_text(&page->config, settings->web_tile_url, strlen(settings->web_tile_url));
    buffer_format(&page->config, ",\"radius_m\":%.10g}", radius_m);
    return page;
}

void page_config_free(struct page_config *page) {
    if (!page) return;
    buffer_free(&page->config);
    free(page);
}

static void get_config(void *state, const struct call *call) {
    const struct page_config *page = state;
    http_reply_json(call->request, 200, &page->config);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/config", get_config, NEEDS_NOTHING},
};
const struct endpoint_list PAGE_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
