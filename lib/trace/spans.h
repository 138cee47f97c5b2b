/* Finished spans: what the event loop hands to the thread that exports them (base/handoff.h), and how they look to a collector. */
#pragma once

#include "base/buffer.h"
#include "trace/context.h"

enum trace_kind { /* OpenTelemetry's numbers */
                  TRACE_INTERNAL = 1,
                  TRACE_SERVER = 2,
                  TRACE_PRODUCER = 4,
                  TRACE_CONSUMER = 5
};

enum { TRACE_NAME_MAX = 64 };

/* The facts of a span besides its ids and times. They never hold anybody's position or text. */
struct trace_facts {
    enum trace_kind kind;
    char name[TRACE_NAME_MAX]; /* the topic's name where there is an operation */
    const char *operation;     /* on a record of Kafka: "publish", "process"; NULL: none. A literal */
    int32_t partition;
    int64_t offset; /* -1: not known */
    size_t bytes;   /* of the record's value */
    int status;     /* of HTTP; 0: none */
    bool failed;
};

struct trace_span {
    struct trace_context context;
    uint8_t parent[TRACE_SPAN_BYTES]; /* zeros: the root */
    int64_t start_ns, end_ns;         /* of the wall clock */
    struct trace_facts facts;
};

/* Where spans come from. */
struct trace_resource {
    const char *service, *instance, *version;
};

/* Appends the spans as an ExportTraceServiceRequest of OTLP, in JSON. Pure. */
void trace_spans_json(struct buffer *out, const struct trace_resource *resource, const struct trace_span *spans,
                      size_t count);
