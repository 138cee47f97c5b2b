/* Exports finished spans to a collector: OTLP over HTTP, in JSON, by a thread of its own (service/poster.h). Loop's thread but where said. */
#pragma once

#include "base/error.h"
#include "base/handoff.h"
#include "trace/spans.h"

struct otlp;

struct otlp_options { /* all of it is longer-lived */
    const char *url;
    const char *headers; /* NAME=VALUE,...; "": none */
    struct trace_resource resource;
    struct handoff *spans;
    int gather_ms; /* spans are gathered for so long; 0: 1,000 */
    int pause_ms;  /* before the second try, and twice as long before each further one; 0: 1,000 */
};

int otlp_check(const char *url, const char *headers, struct error *error); /* -EINVAL */
struct otlp *otlp_new(const struct otlp_options *options);                 /* of settings that were checked */
/* Posts what is left, for a second at most. NULL is fine. The queue is closed then, and stays its owner's. */
void otlp_free(struct otlp *otlp);

uint64_t otlp_posts_failed(struct otlp *otlp); /* posts that were not taken, each try counted; any thread */
