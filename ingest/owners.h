/* Answers that come from the owner of a key, passed on to the client. Loop's thread. */
#pragma once

#include "json/json.h"
#include "posts/sights.h"
#include "rpc/ask.h"
#include "service/http.h"

struct product_options;

/* Makes the directory of a group's members, which own the topic's partitions between them. As peers_new. */
int owners_new(const struct product_options *options, const char *group, const struct topic *topic,
               struct peers **owners, struct error *error);

/* The sights of a gateway, which asks these feed processes; as sights_new. */
struct sights *owners_sights_new(const struct product_options *options, struct peers *feeds);

/* Asks, and answers the request with what the owner says: 200 as it is; 400 bad_query; anything else, or no answer, is 503
 * owner_unavailable. */
void owners_pass_on(struct peers *peers, const struct rpc_question *question, const struct rpc_value *values,
                    int timeout_ms, struct http_request *request);

/* For code that asks an owner itself: whether it answered 200. If not, the request is answered as above. */
bool owners_answered(struct http_request *request, int code, unsigned status);

/* Answers 503 owner_unavailable: the owner is away. */
void owners_away(struct http_request *request, int retry_after_s);
