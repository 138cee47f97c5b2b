#include "ingest/description.h"

#include "base/config.h"

/* Generated from docs/openapi.yaml (cmake/Embed.cmake). */
extern const unsigned char OPENAPI_YAML[];
extern const size_t OPENAPI_YAML_SIZE;

static void get_description(void *state, const struct call *call) {
    static const struct http_field FIELDS[] = {{"Cache-Control", "no-cache"}};
    http_reply_constant(call->request, "application/yaml", OPENAPI_YAML, OPENAPI_YAML_SIZE, FIELDS, ARRAY_SIZE(FIELDS));
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/openapi.yaml", get_description, NEEDS_NOTHING},
};
const struct endpoint_list DESCRIPTION_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
