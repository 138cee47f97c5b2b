/* Tests otlp.c and poster.c. The exporter of spans: what it posts, what it tries again, and that a collector that is away costs spans
 * and nothing else. */
#include "service/otlp.h"
#include "unit/kit/kit.h"
#include "unit/lib/service/world.h"

static const struct trace_resource RESOURCE = {.service = "starling-test", .instance = "a", .version = "1"};

/* Tests of what the exporter sends to a collector. */
static void collected(void *context, const struct http_request *request, unsigned status) {
    struct world *world = context;
    size_t size;
    const void *body = http_body(request, &size);
    const char *type = http_header(request, "Content-Type");
    if (!type || strcmp(type, "application/json") != 0) return;
    buffer_append(world->answered, body, size);
}

SET_UP() {
    static struct buffer bodies;
    struct world *world = world_new((struct http_server_options){.max_body = 1024 * 1024, .answered = collected});
    world->answered = &bodies;
    return world;
}

TEAR_DOWN(struct world *world) { buffer_free(world->answered); }

static void put(struct handoff *queue, const char *name) {
    struct trace_span span = {.start_ns = 1, .end_ns = 2, .facts = {.kind = TRACE_INTERNAL}};
    memset(&span.context, 0x11, sizeof span.context);
    strcpy(span.facts.name, name);
    handoff_put(queue, &span);
}

static struct otlp *export_to(struct handoff *queue, const char *url, const char *headers) {
    return otlp_new(&(struct otlp_options){
        .url = url, .headers = headers, .resource = RESOURCE, .spans = queue, .gather_ms = 1, .pause_ms = 1});
}

static bool has(struct world *world, const char *text) { return strstr(buffer_cstring(world->answered), text); }

TEST(spans_are_posted, struct world *world) {
    FREED char *url = world_url(world, "/v1/traces");
    struct handoff *queue = handoff_new(100, sizeof(struct trace_span));
    struct otlp *otlp = export_to(queue, url, "");
    put(queue, "first");
    world_until(world, has(world, "first"));
    put(queue, "second");
    world_until(world, has(world, "second"));
    assert_true(has(world, "starling-test"));
    assert_int_equal(otlp_posts_failed(otlp), 0);
    assert_int_equal(handoff_read_counts(queue).dropped, 0);
    otlp_free(otlp);
    handoff_free(queue);
}

TEST(headers_are_sent, struct world *world) {
    FREED char *url = world_url(world, "/bearer"); // 401 without
    struct handoff *queue = handoff_new(100, sizeof(struct trace_span));
    struct otlp *otlp = export_to(queue, url, "x-other=1, Authorization=Bearer secret");
    put(queue, "first");
    world_until(world, has(world, "first"));
    otlp_free(otlp);
    assert_int_equal(handoff_read_counts(queue).dropped, 0);
    handoff_free(queue);
}

TEST(what_is_refused_is_not_tried_again, struct world *world) {
    FREED char *url = world_url(world, "/bearer");
    struct handoff *queue = handoff_new(100, sizeof(struct trace_span));
    struct otlp *otlp = export_to(queue, url, "");
    put(queue, "first");
    world_until(world, handoff_read_counts(queue).dropped == 1);
    assert_int_equal(otlp_posts_failed(otlp), 1);
    otlp_free(otlp);
    handoff_free(queue);
}

TEST(a_collector_that_is_away_is_tried_again_and_given_up, struct world *world) {
    struct handoff *queue = handoff_new(2, sizeof(struct trace_span));
    struct otlp *otlp = export_to(queue, "http://127.0.0.1:1/v1/traces", ""); // nobody listens there
    put(queue, "first");
    world_until(world, handoff_read_counts(queue).dropped >= 1);
    assert_int_equal(otlp_posts_failed(otlp), 6);
    otlp_free(otlp);
    handoff_free(queue);
}

TEST(the_end_waits_for_no_collector) {
    struct handoff *queue = handoff_new(100, sizeof(struct trace_span));
    struct otlp *otlp = otlp_new(&(struct otlp_options){.url = "http://127.0.0.1:1/v1/traces",
                                                        .headers = "",
                                                        .resource = RESOURCE,
                                                        .spans = queue,
                                                        .pause_ms = 100000});
    put(queue, "first");
    int64_t began_us = clock_monotonic_us();
    otlp_free(otlp);
    assert_true(clock_monotonic_us() - began_us < 10000000);
    assert_int_equal(handoff_read_counts(queue).dropped, 1);
    handoff_free(queue);
}

TEST(settings_are_checked) {
    assert_int_equal(otlp_check("", "", &failure), 0);
    assert_int_equal(otlp_check("http://collector:4318/v1/traces", "a=b,c=d e", &failure), 0);
    assert_int_equal(otlp_check("collector:4318", "", &failure), -EINVAL);
    assert_int_equal(otlp_check("", "nothing", &failure), -EINVAL);
    assert_int_equal(otlp_check("", "a b=c", &failure), -EINVAL);
    assert_int_equal(otlp_check("", "a=b\r\nc", &failure), -EINVAL);
}
