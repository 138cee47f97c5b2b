/* GET /peer/history/{user}?from=&to=&after=&limit=, times in ms: from <= time < to. A cursor is the time and the offset of the
 * last row before it, TIME-OFFSET. Long answers are made in slices, in turn. And GET /peer/wiped/{user} (history-sink/wiping.h). Loop's
 * thread. */
#pragma once

#include "history-sink/sink.h"

struct queries; /* under way */
struct queries *queries_new(struct sink *sink);
void queries_free(struct queries *queries); /* answers all; NULL is fine */

void query_answer(void *sink, struct http_request *request); /* service_definition's peer */
