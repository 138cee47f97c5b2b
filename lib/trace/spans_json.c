/* Spans as OTLP's JSON: opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest. Attributes follow OpenTelemetry's semantic
 * conventions for messaging and HTTP. */
#include <inttypes.h>
#include <string.h>

#include "json/json.h"
#include "trace/spans.h"

static void put_key(struct buffer *out, bool *first, const char *key) {
    buffer_format(out, "%s{\"key\":\"%s\",\"value\":{", *first ? "" : ",", key);
    *first = false;
}

static void put_text(struct buffer *out, bool *first, const char *key, const char *text) {
    put_key(out, first, key);
    json_member_text(out, "\"stringValue\":", text);
    buffer_string(out, "}}");
}

/* OTLP's JSON has 64-bit numbers as strings. */
static void put_number(struct buffer *out, bool *first, const char *key, int64_t number) {
    put_key(out, first, key);
    buffer_format(out, "\"intValue\":\"%" PRId64 "\"}}", number);
}

static void put_record(struct buffer *out, bool *first, const struct trace_facts *facts) {
    char partition[16];
    bool sends = facts->kind == TRACE_PRODUCER;
    snprintf(partition, sizeof partition, "%" PRId32, facts->partition);
    put_text(out, first, "messaging.system", "kafka");
    put_text(out, first, "messaging.destination.name", facts->name);
    put_text(out, first, "messaging.operation.name", facts->operation);
    put_text(out, first, "messaging.operation.type", sends ? "send" : "process");
    if (facts->partition >= 0) put_text(out, first, "messaging.destination.partition.id", partition);
    if (facts->offset >= 0) put_number(out, first, "messaging.kafka.offset", facts->offset);
    put_number(out, first, "messaging.message.body.size", (int64_t)facts->bytes);
}

static void put_attributes(struct buffer *out, const struct trace_facts *facts) {
    bool first = true;
    buffer_string(out, ",\"attributes\":[");
    if (facts->operation) put_record(out, &first, facts);
    if (facts->status) put_number(out, &first, "http.response.status_code", facts->status);
    buffer_byte(out, ']');
}

static void put_hex(struct buffer *out, const char *key, const uint8_t *bytes, size_t size) {
    char text[TRACE_ID_TEXT];
    trace_hex(bytes, size, text);
    buffer_format(out, "%s\"%s\"", key, text);
}

static void put_name(struct buffer *out, const struct trace_facts *facts) {
    char name[TRACE_NAME_MAX + 16];
    snprintf(name, sizeof name, "%s%s%s", facts->name, facts->operation ? " " : "",
             facts->operation ? facts->operation : "");
    json_member_text(out, ",\"name\":", name);
}

static void put_span(struct buffer *out, const struct trace_span *span) {
    static const uint8_t NONE[TRACE_SPAN_BYTES];
    put_hex(out, "{\"traceId\":", span->context.trace, sizeof span->context.trace);
    put_hex(out, ",\"spanId\":", span->context.span, sizeof span->context.span);
    if (memcmp(span->parent, NONE, sizeof NONE) != 0)
        put_hex(out, ",\"parentSpanId\":", span->parent, sizeof span->parent);
    put_name(out, &span->facts);
    buffer_format(out, ",\"kind\":%d,\"startTimeUnixNano\":\"%" PRId64 "\",\"endTimeUnixNano\":\"%" PRId64 "\"",
                  (int)span->facts.kind, span->start_ns, span->end_ns);
    put_attributes(out, &span->facts);
    buffer_string(out, span->facts.failed ? ",\"status\":{\"code\":2}}" : "}");
}

void trace_spans_json(struct buffer *out, const struct trace_resource *resource, const struct trace_span *spans,
                      size_t count) {
    bool first = true;
    buffer_string(out, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    put_text(out, &first, "service.name", resource->service);
    put_text(out, &first, "service.instance.id", resource->instance);
    put_text(out, &first, "service.version", resource->version);
    buffer_string(out, "]},\"scopeSpans\":[{\"scope\":{\"name\":\"starling\"},\"spans\":[");
    for (size_t i = 0; i < count; i++) {
        if (i) buffer_byte(out, ',');
        put_span(out, &spans[i]);
    }
    buffer_string(out, "]}]}]}");
}
