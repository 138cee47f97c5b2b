/* Tests traces.c. Records that carry the context of a trace: who gets it, and which spans are made of it. */
#include "event/topics.h"
#include "unit/kit/kit.h"
#include "world.h"

enum { PARTITION = 1, CALLS_MAX = 32 };

/* The calls of on_records, with what was current in each. */
struct calls {
    struct tracer *tracer;
    size_t count, seen;
    struct {
        size_t records;
        bool traced;
        struct trace_scope scope;
    } calls[CALLS_MAX];
};

static void note_call(struct reader *reader) {
    struct calls *calls = reader->context;
    const struct trace_scope *scope = tracer_current(calls->tracer);
    assert_true(calls->count < CALLS_MAX);
    calls->calls[calls->count].records = reader->count - calls->seen;
    calls->calls[calls->count].traced = scope;
    if (scope) calls->calls[calls->count].scope = *scope;
    calls->count++;
    calls->seen = reader->count;
    tracer_keep(calls->tracer);
}

static void send_within(struct world *world, struct kafka_producer *producer, struct trace_scope *scope,
                        const char *value) {
    struct trace_scope *before = tracer_enter(world->settings.tracer, scope);
    world_send(world, producer, &TOPIC_SHARING, PARTITION, value);
    tracer_enter(world->settings.tracer, before);
}

static const struct trace_span *find_span(const struct trace_span *spans, size_t count, enum trace_kind kind) {
    size_t i = 0;
    while (i < count && spans[i].facts.kind != kind) i++;
    assert_true(i < count);
    return &spans[i];
}

SET_UP() { return world_create(true); }

TEST(test_a_traced_record_comes_alone_within_a_scope, struct world *world) {
    struct handoff *queue = handoff_new(100, sizeof(struct trace_span));
    struct tracer *tracer = tracer_new(&(struct tracer_options){.every = 1, .max_per_s = 1000, .spans = queue});
    world->settings.tracer = tracer;
    struct kafka_producer *producer = world_producer(world, NULL);
    struct trace_scope root;
    assert_true(tracer_begin(tracer, NULL, 1, &root));
    root.sends = (struct trace_part){.first = 2, .count = 3};
    world_send(world, producer, &TOPIC_SHARING, PARTITION, "one");
    world_send(world, producer, &TOPIC_SHARING, PARTITION, "two");
    send_within(world, producer, &root, "traced");
    world_send(world, producer, &TOPIC_SHARING, PARTITION, "three");
    world_flush(world, producer);
    assert_true(root.used);

    struct calls calls = {.tracer = tracer};
    struct reader reader = {.on_records = note_call, .context = &calls};
    reader_open(&reader, world, NULL, NULL);
    reader_read(&reader, &TOPIC_SHARING, PARTITION, 0);
    reader_until(&reader, 4);
    size_t traced = 0;
    for (size_t i = 0; i < calls.count; i++) {
        if (!calls.calls[i].traced) continue;
        const struct trace_scope *scope = &calls.calls[i].scope;
        traced++;
        assert_int_equal(calls.calls[i].records, 1);
        assert_memory_equal(scope->context.trace, root.context.trace, sizeof root.context.trace);
        assert_int_equal(scope->within.first, 2);
        assert_int_equal(scope->within.count, 3);
    }
    assert_int_equal(traced, 1);
    assert_string_equal(reader.seen[2].value, "traced");

    // request --> publish --> process
    size_t count;
    const struct trace_span *spans = handoff_take(queue, 1, &count);
    assert_int_equal(count, 2);
    const struct trace_span *publish = find_span(spans, count, TRACE_PRODUCER),
                            *process = find_span(spans, count, TRACE_CONSUMER);
    assert_memory_equal(publish->parent, root.context.span, sizeof root.context.span);
    assert_memory_equal(process->parent, publish->context.span, sizeof process->parent);
    assert_int_equal(publish->facts.offset, 2);
    assert_int_equal(process->facts.offset, 2);
    assert_int_equal(publish->facts.partition, PARTITION);
    assert_true(publish->start_ns <= publish->end_ns && process->start_ns <= process->end_ns);
    reader_close(&reader);
    kafka_producer_free(producer, 1000);
    tracer_free(tracer);
    handoff_free(queue);
    world->settings.tracer = NULL;
}

static void no_fate(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                    int64_t offset) {
    *(int *)context += code == 0;
}

/* The trace's headers must not make a record too large. */
TEST(test_a_record_that_just_fits_goes_without_its_trace, struct world *world) {
    struct tracer *tracer = tracer_new(&(struct tracer_options){.every = 1, .max_per_s = 1000});
    world->settings.tracer = tracer;
    struct kafka_producer *producer = NULL;
    struct trace_scope root;
    int acknowledged = 0;
    struct kafka_producer_options options = {
        .loop = &world->loop, .settings = &world->settings, .context = &acknowledged, .on_delivered = no_fate};
    assert_int_equal(kafka_producer_new(&options, &producer, NULL), 0);
    size_t size = 1048000;
    FREED char *value = mem_zero(1, size);
    while (kafka_producer_send(producer, &TOPIC_SHARING, PARTITION, "k", 1, value, size, NULL)) size--;
    assert_true(size > 1047000);
    assert_true(tracer_begin(tracer, NULL, 1, &root));
    tracer_enter(tracer, &root);
    assert_int_equal(kafka_producer_send(producer, &TOPIC_SHARING, PARTITION, "k", 1, value, size, NULL), 0);
    assert_int_equal(kafka_producer_send(producer, &TOPIC_SHARING, PARTITION, "k", 1, value, size + 1, NULL), -EINVAL);
    tracer_enter(tracer, NULL);
    world_flush(world, producer);
    assert_int_equal(acknowledged, 2);
    kafka_producer_free(producer, 1000);
    tracer_free(tracer);
    world->settings.tracer = NULL;
}
