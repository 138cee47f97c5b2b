/* Spans as the JSON of OTLP. */
#include "json/json.h"
#include "trace/tracer.h"
#include "unit/kit/kit.h"

static const char SAMPLED[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

static const char *text_at(const json_t *attributes, const char *key, const char *type) {
    size_t i;
    const json_t *attribute;
    json_array_foreach(attributes, i, attribute) {
        if (!strcmp(json_string_value(json_object_get(attribute, "key")), key))
            return json_string_value(json_object_get(json_object_get(attribute, "value"), type));
    }
    return "(none)";
}

TEST(spans_are_written_as_otlp_wants) {
    struct trace_span spans[2] = {
        {.start_ns = 1700000000123456789,
         .end_ns = 1700000000123999999,
         .facts = {.kind = TRACE_PRODUCER,
                   .name = "starling.posts",
                   .operation = "publish",
                   .partition = 3,
                   .offset = 12345678901,
                   .bytes = 17,
                   .failed = true}},
        {.start_ns = 5, .end_ns = 6, .facts = {.kind = TRACE_SERVER, .name = "a \"quoted\" name", .status = 200}},
    };
    struct trace_context context;
    assert_int_equal(trace_context_parse(SAMPLED, &context), 0);
    spans[0].context = spans[1].context = context;
    memcpy(spans[0].parent, context.span, sizeof context.span);
    FREED_BUFFER out = {.size = 0};
    const struct trace_resource resource = {
        .service = "starling-feed", .instance = "starling-feed@a:1", .version = "1"};
    trace_spans_json(&out, &resource, spans, 2);
    FREED_JSON *root = json_parse(out.data, out.size, &failure);
    assert_non_null(root);
    const json_t *all = json_array_get(json_object_get(root, "resourceSpans"), 0);
    const json_t *of = json_object_get(json_object_get(all, "resource"), "attributes");
    assert_string_equal(text_at(of, "service.name", "stringValue"), "starling-feed");
    assert_string_equal(text_at(of, "service.instance.id", "stringValue"), "starling-feed@a:1");
    const json_t *list = json_object_get(json_array_get(json_object_get(all, "scopeSpans"), 0), "spans");
    assert_int_equal(json_array_size(list), 2);
    const json_t *first = json_array_get(list, 0), *second = json_array_get(list, 1);
    const json_t *attributes = json_object_get(first, "attributes");
    assert_string_equal(json_string_value(json_object_get(first, "traceId")), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_string_equal(json_string_value(json_object_get(first, "spanId")), "00f067aa0ba902b7");
    assert_string_equal(json_string_value(json_object_get(first, "parentSpanId")), "00f067aa0ba902b7");
    assert_string_equal(json_string_value(json_object_get(first, "name")), "starling.posts publish");
    assert_int_equal(json_integer_value(json_object_get(first, "kind")), 4);
    assert_string_equal(json_string_value(json_object_get(first, "startTimeUnixNano")), "1700000000123456789");
    assert_string_equal(text_at(attributes, "messaging.system", "stringValue"), "kafka");
    assert_string_equal(text_at(attributes, "messaging.destination.name", "stringValue"), "starling.posts");
    assert_string_equal(text_at(attributes, "messaging.destination.partition.id", "stringValue"), "3");
    assert_string_equal(text_at(attributes, "messaging.kafka.offset", "intValue"), "12345678901");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(first, "status"), "code")), 2);
    assert_null(json_object_get(second, "parentSpanId"));
    assert_null(json_object_get(second, "status"));
    assert_string_equal(json_string_value(json_object_get(second, "name")), "a \"quoted\" name");
    assert_string_equal(text_at(json_object_get(second, "attributes"), "http.response.status_code", "intValue"), "200");
}
