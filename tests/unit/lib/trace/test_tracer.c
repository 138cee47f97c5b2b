/* Tests tracer.c and lib/base/handoff.c. The tracer and its queue: which records begin a trace, what is current, what is parked and for
 * how long, and that a full queue drops spans and counts them, whatever its reader does. */
#include "trace/tracer.h"
#include "unit/kit/kit.h"

static const char SAMPLED[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
static const char NOT_SAMPLED[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

static struct tracer *some_tracer(int64_t every, int64_t max_per_s, struct handoff *spans) {
    return tracer_new(&(struct tracer_options){.every = every, .max_per_s = max_per_s, .spans = spans});
}

static bool begins(struct tracer *tracer, const char *parent, struct trace_scope *scope) {
    return tracer_begin(tracer, parent, 1000, scope);
}

/* ---- the beginning ---- */

TEST(one_record_in_n_begins_a_trace) {
    struct tracer *tracer = some_tracer(7, 1000000, NULL);
    struct trace_scope scope;
    size_t count = 0;
    for (int i = 0; i < 700; i++) count += begins(tracer, NULL, &scope);
    assert_int_equal(count, 100);
    tracer_free(tracer);
}

TEST(none_begins_without_sampling) {
    struct tracer *tracer = some_tracer(0, 1000000, NULL);
    struct trace_scope scope;
    for (int i = 0; i < 100; i++) assert_false(begins(tracer, NULL, &scope));
    assert_false(begins(tracer, NOT_SAMPLED, &scope));
    assert_false(begins(tracer, "nonsense", &scope));
    assert_false(begins(NULL, SAMPLED, &scope));
    tracer_free(tracer);
}

TEST(a_sampled_request_is_followed) {
    struct tracer *tracer = some_tracer(0, 10, NULL);
    struct trace_context parent;
    struct trace_scope scope;
    assert_int_equal(trace_context_parse(SAMPLED, &parent), 0);
    assert_true(begins(tracer, SAMPLED, &scope));
    assert_memory_equal(scope.context.trace, parent.trace, sizeof parent.trace);
    assert_memory_equal(scope.parent, parent.span, sizeof parent.span);
    assert_memory_not_equal(scope.context.span, parent.span, sizeof parent.span);
    assert_true(scope.context.sampled);
    assert_int_equal(scope.start_ns, 1000);
    tracer_free(tracer);
}

/* As in one second; a test that is stopped for longer sees two. */
TEST(no_more_begin_in_a_second_than_may) {
    struct tracer *tracer = some_tracer(1, 5, NULL);
    struct trace_scope scope;
    int64_t began_us = clock_monotonic_us();
    size_t count = 0;
    for (int i = 0; i < 1000; i++) count += begins(tracer, i % 2 ? SAMPLED : NULL, &scope);
    int64_t seconds = clock_monotonic_us() / 1000000 - began_us / 1000000 + 1;
    assert_true(count >= 5 && (int64_t)count <= 5 * seconds);
    tracer_free(tracer);
}

TEST(children_are_of_the_trace_and_have_ids_of_their_own) {
    struct tracer *tracer = some_tracer(1, 10, NULL);
    struct trace_scope root;
    assert_true(begins(tracer, NULL, &root));
    struct trace_scope a = tracer_child(tracer, &root.context), b = tracer_child(tracer, &root.context);
    assert_memory_equal(a.context.trace, root.context.trace, sizeof root.context.trace);
    assert_memory_equal(a.parent, root.context.span, sizeof root.context.span);
    assert_false(trace_context_same(&a.context, &b.context));
    assert_false(trace_context_same(&a.context, &root.context));
    tracer_free(tracer);
}

/* ---- what is current ---- */

TEST(what_was_entered_is_current) {
    struct tracer *tracer = some_tracer(1, 10, NULL);
    struct trace_scope outer, inner;
    begins(tracer, NULL, &outer);
    begins(tracer, NULL, &inner);
    assert_null(tracer_current(tracer));
    assert_null(tracer_enter(tracer, &outer));
    assert_ptr_equal(tracer_current(tracer), &outer);
    assert_ptr_equal(tracer_enter(tracer, &inner), &outer);
    assert_ptr_equal(tracer_current(tracer), &inner);
    assert_ptr_equal(tracer_enter(tracer, NULL), &inner);
    assert_null(tracer_current(tracer));
    tracer_enter(tracer, &outer);
    tracer_keep(tracer);
    assert_true(outer.used);
    assert_false(inner.used);
    tracer_free(tracer);
}

TEST(only_the_parts_items_are_worked_for) {
    struct tracer *tracer = some_tracer(1, 10, NULL);
    struct trace_scope scope;
    begins(tracer, NULL, &scope);
    scope.within = (struct trace_part){.first = 2, .count = 3};
    struct trace_scope *before = tracer_enter(tracer, &scope);
    for (size_t n = 0; n < 10; n++) {
        tracer_item(tracer, n);
        assert_int_equal(tracer_current(tracer) != NULL, n >= 2 && n < 5);
    }
    tracer_item(tracer, SIZE_MAX);
    assert_null(tracer_current(tracer));
    tracer_enter(tracer, before);
    scope.within.count = 0; // the whole record
    tracer_enter(tracer, &scope);
    tracer_item(tracer, 7);
    assert_non_null(tracer_current(tracer));
    tracer_free(tracer);
}

/* ---- parking ---- */

static const int WHOSE; /* of what is parked */

TEST(what_is_parked_is_found_once) {
    struct tracer *tracer = some_tracer(1, 10, NULL);
    struct trace_scope scope, found;
    int64_t since_ns, began_ns = clock_wall_ns();
    begins(tracer, NULL, &scope);
    tracer_park(tracer, &WHOSE, 1); // nothing is current: nothing is parked
    assert_false(tracer_parked(tracer, &WHOSE, 1, &found, NULL));
    tracer_enter(tracer, &scope);
    tracer_park(tracer, &WHOSE, 1);
    tracer_enter(tracer, NULL);
    assert_true(scope.used);
    assert_false(tracer_parked(tracer, &WHOSE, 2, &found, NULL));
    assert_false(tracer_parked(tracer, tracer, 1, &found, NULL));
    assert_true(tracer_parked(tracer, &WHOSE, 1, &found, &since_ns));
    assert_true(trace_context_same(&found.context, &scope.context));
    assert_true(since_ns >= began_ns && since_ns <= clock_wall_ns());
    assert_true(tracer_unpark(tracer, &WHOSE, 1, &found, NULL));
    assert_false(tracer_unpark(tracer, &WHOSE, 1, &found, NULL));
    tracer_free(tracer);
}

TEST(a_scope_is_parked_a_few_times_only) {
    struct tracer *tracer = some_tracer(1, 10, NULL);
    struct trace_scope scope, found;
    size_t count = 0;
    begins(tracer, NULL, &scope);
    tracer_enter(tracer, &scope);
    for (uint64_t i = 0; i < 100; i++) tracer_park(tracer, &WHOSE, i);
    for (uint64_t i = 0; i < 100; i++) count += tracer_unpark(tracer, &WHOSE, i, &found, NULL);
    assert_int_equal(count, 16);
    tracer_free(tracer);
}

TEST(the_oldest_makes_room) {
    struct tracer *tracer = some_tracer(1, 10, NULL);
    struct trace_scope scope, found;
    begins(tracer, NULL, &scope);
    for (uint64_t i = 0; i < 3000; i++) {
        struct trace_scope one = scope;
        tracer_park_scope(tracer, &one, &WHOSE, i);
    }
    assert_false(tracer_parked(tracer, &WHOSE, 0, &found, NULL));
    assert_false(tracer_parked(tracer, &WHOSE, 3000 - 1025, &found, NULL));
    for (uint64_t i = 3000 - 1024; i < 3000; i++) assert_true(tracer_parked(tracer, &WHOSE, i, &found, NULL));
    tracer_forget(tracer, &WHOSE, 2999);
    assert_false(tracer_parked(tracer, &WHOSE, 2999, &found, NULL));
    tracer_free(tracer);
}

TEST(without_a_tracer_nothing_happens) {
    struct trace_scope scope = {.context.sampled = true}, found;
    assert_null(tracer_enter(NULL, &scope));
    assert_null(tracer_current(NULL));
    tracer_item(NULL, 1);
    tracer_keep(NULL);
    tracer_park(NULL, &WHOSE, 1);
    tracer_park_scope(NULL, &scope, &WHOSE, 1);
    assert_false(tracer_unpark(NULL, &WHOSE, 1, &found, NULL));
    tracer_forget(NULL, &WHOSE, 1);
    tracer_finish(NULL, &scope, &(struct trace_facts){.kind = TRACE_INTERNAL});
    tracer_free(NULL);
}

/* ---- the queue ---- */

static void finish_some(struct tracer *tracer, size_t count) {
    struct trace_scope scope;
    for (size_t i = 0; i < count; i++) {
        begins(tracer, NULL, &scope);
        tracer_finish(tracer, &scope, &(struct trace_facts){.kind = TRACE_SERVER, .name = "GET /v1/friends"});
    }
}

TEST(a_full_queue_drops_spans_and_counts_them) {
    struct handoff *queue = handoff_new(10, sizeof(struct trace_span));
    struct tracer *tracer = some_tracer(1, 1000000, queue);
    size_t count;
    finish_some(tracer, 25);
    assert_int_equal(handoff_read_counts(queue).put, 25);
    assert_int_equal(handoff_read_counts(queue).dropped, 15);
    const struct trace_span *spans = handoff_take(queue, 10000, &count);
    assert_int_equal(count, 10);
    assert_string_equal(spans[9].facts.name, "GET /v1/friends");
    assert_true(spans[9].end_ns >= spans[9].start_ns);
    handoff_lose(queue, 10);
    assert_int_equal(handoff_read_counts(queue).dropped, 25);
    handoff_take(queue, 1, &count);
    assert_int_equal(count, 0);
    tracer_free(tracer);
    handoff_free(queue);
}

TEST(a_closed_queue_keeps_nobody_waiting) {
    struct handoff *queue = handoff_new(10, sizeof(struct trace_span));
    struct tracer *tracer = some_tracer(1, 1000000, queue);
    size_t count;
    finish_some(tracer, 3);
    handoff_close(queue);
    handoff_take(queue, 1000000, &count);
    assert_int_equal(count, 3);
    assert_true(handoff_pause(queue, 1000000));
    tracer_free(tracer);
    handoff_free(queue);
}

struct reading {
    struct handoff *queue;
    size_t taken;
    bool whole; /* each span is as it was put */
};

static void read_all(void *context) {
    struct reading *reading = context;
    size_t count;
    bool closed;
    do {
        closed = handoff_pause(reading->queue, 0);
        const struct trace_span *spans = handoff_take(reading->queue, 1, &count);
        for (size_t i = 0; i < count; i++)
            reading->whole = reading->whole && !strcmp(spans[i].facts.name, "GET /v1/friends");
        reading->taken += count;
    } while (!closed);
}

TEST(a_thread_takes_what_another_puts) {
    struct reading reading = {.queue = handoff_new(100, sizeof(struct trace_span)), .whole = true};
    struct tracer *tracer = some_tracer(1, INT64_MAX, reading.queue);
    uv_thread_t thread;
    assert_int_equal(uv_thread_create(&thread, read_all, &reading), 0);
    finish_some(tracer, 20000);
    handoff_close(reading.queue);
    uv_thread_join(&thread);
    assert_true(reading.whole);
    assert_int_equal(reading.taken + handoff_read_counts(reading.queue).dropped, 20000);
    tracer_free(tracer);
    handoff_free(reading.queue);
}
