/* Questions to any of the moderation processes, each of which knows all comments. Loop's thread. */
#pragma once

#include "base/chance.h"
#include "json/json.h"
#include "service/http.h"
#include "rpc/ask.h"

/* The section of the gateway's configuration: values of MODERATION_GATEWAY_SECTION (ingest/products.h). */
struct moderation_gateway_settings {
    const char *group;
};

struct moderation_client {
    struct peers *processes;
    int32_t partitions; /* of the topic that the processes share */
    struct chance chance;
};

/* Asks one of them, drawn by chance, and another one if that one has no answer now. Either answers the request with a problem (400
 * bad_query, no_words; 503 search_too_slow, moderation_unavailable), or calls `answered` with the reply {items, next}, once; then
 * that answers. Copies the path. */
void moderation_client_ask(struct moderation_client *client, const char *path, struct http_request *request,
                           void (*answered)(void *context, struct http_request *request, const json_t *reply),
                           void *context);
