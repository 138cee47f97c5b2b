/* GET /v1/history: the caller's own reports, read out by the sink that owns them. */
#pragma once

#include "ingest/product.h"
#include "service/peers.h"

struct history;

struct history *history_new(const struct product_options *options, struct peers *sinks);
bool history_busy(const struct history *history); /* its thread is still at it */
void history_free(struct history *history);       /* after the sinks, and not while busy; NULL is fine */

extern const struct endpoint_list HISTORY_ENDPOINTS; /* state: struct history */
