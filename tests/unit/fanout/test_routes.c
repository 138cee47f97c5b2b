/* Assignments of routes, while the question where new ones end takes its time on a worker thread. */
#include "fanout/routes.h"
#include "unit/kit/kit.h"

enum { MOST = 8 };

struct world {
    uv_loop_t loop;
    uv_sem_t answer; /* each question waits for one */
    struct metrics *metrics;
    struct log *log;
    struct routes *routes;
    int changes, asked, failures; /* asked: partitions, in the last question */
    struct kafka_position read[MOST];
    size_t read_count;
};

static void changed(void *context) {
    struct world *w = context;
    w->changes++;
}

static int ends(void *context, struct kafka_position *positions, size_t count, struct error *error) {
    struct world *w = context;
    uv_sem_wait(&w->answer);
    w->asked = (int)count;
    if (w->failures-- > 0) return error_set(error, -ETIMEDOUT, "no broker");
    for (size_t i = 0; i < count; i++) positions[i].offset = 1000 + positions[i].partition;
    return 0;
}

static int read_them(void *context, const struct kafka_position *positions, size_t count, struct error *error) {
    struct world *w = context;
    for (size_t i = 0; i < count; i++) w->read[i] = positions[i];
    w->read_count = count;
    return 0;
}

static int64_t position(void *context, int32_t partition) { return 5 + partition; }

static void world_end(void *it) {
    struct world *w = it;
    while (routes_end(w->routes)) uv_run(&w->loop, UV_RUN_ONCE);
    routes_free(w->routes);
    kit_loop_end(&w->loop);
    uv_sem_destroy(&w->answer);
}

static struct world *world_new(void) {
    struct world *w = kit_zero(sizeof *w);
    *w = (struct world){.metrics = kit_metrics(), .log = kit_log()};
    uv_loop_init(&w->loop);
    uv_sem_init(&w->answer, 0);
    w->routes = routes_new(&(struct routes_options){.loop = &w->loop,
                                                    .log = w->log,
                                                    .metrics = w->metrics,
                                                    .used = 1,
                                                    .context = w,
                                                    .changed = changed,
                                                    .ends = ends,
                                                    .read = read_them,
                                                    .position = position});
    kit_after(world_end, w);
    return w;
}

static void assign(struct world *w, int from, int to) {
    struct kafka_position owned[MOST];
    for (int i = from; i < to; i++)
        owned[i - from] = (struct kafka_position){.partition = i, .offset = KAFKA_OFFSET_NONE};
    routes_assigned(w->routes, owned, (size_t)(to - from));
}

static void turn(struct world *w) {
    for (int i = 0; i < 5; i++) uv_run(&w->loop, UV_RUN_NOWAIT);
}

static int64_t offset_of(const struct world *w, int32_t partition) {
    for (size_t i = 0; i < w->read_count; i++) {
        if (w->read[i].partition == partition) return w->read[i].offset;
    }
    return KAFKA_OFFSET_NONE;
}

SET_UP() { return world_new(); }

/* If the question were asked on the loop, this would never end. */
TEST(the_loop_turns_while_a_broker_takes_its_time, struct world *w) {
    assign(w, 0, 2);
    turn(w);
    assert_int_equal(w->changes, 0);
    assert_int_equal(routes_choose(w->routes), -1);
    uv_sem_post(&w->answer);
    while (!w->changes) uv_run(&w->loop, UV_RUN_ONCE);
    assert_int_equal(routes_count(w->routes), 2);
    assert_int_equal(routes_choose(w->routes), 0);
    assert_int_equal(offset_of(w, 1), 1001);
}

TEST(only_new_routes_are_read_from_their_ends, struct world *w) {
    uv_sem_post(&w->answer);
    assign(w, 0, 2);
    while (w->changes < 1) uv_run(&w->loop, UV_RUN_ONCE);
    routes_revoked(w->routes);
    assert_true(routes_has(w->routes, 0)); /* most come back in a moment */
    uv_sem_post(&w->answer);
    assign(w, 1, 4);
    while (w->changes < 2) uv_run(&w->loop, UV_RUN_ONCE);
    assert_int_equal(w->asked, 2);
    assert_int_equal(offset_of(w, 1), 6);
    assert_int_equal(offset_of(w, 2), 1002);
    assert_int_equal(offset_of(w, 3), 1003);
    assert_false(routes_has(w->routes, 0));
    routes_revoked(w->routes);
    assign(w, 1, 3); /* nothing new: nobody is asked */
    while (w->changes < 3) uv_run(&w->loop, UV_RUN_ONCE);
}

TEST(the_latest_assignment_counts, struct world *w) {
    assign(w, 0, 4);
    routes_revoked(w->routes);
    assign(w, 4, 5);
    uv_sem_post(&w->answer); /* the answer to the first: of no use any more */
    uv_sem_post(&w->answer);
    while (!w->changes) uv_run(&w->loop, UV_RUN_ONCE);
    assert_int_equal(w->changes, 1);
    assert_int_equal(routes_count(w->routes), 1);
    assert_true(routes_has(w->routes, 4));
    assert_int_equal(w->asked, 1);
    /* One that is taken away before the answer is there is never read. */
    assign(w, 0, 4);
    routes_revoked(w->routes);
    uv_sem_post(&w->answer);
    while (routes_end(w->routes)) uv_run(&w->loop, UV_RUN_ONCE);
    assert_int_equal(w->read_count, 1);
}

TEST(a_question_that_fails_is_asked_again, struct world *w) {
    w->failures = 1;
    assign(w, 0, 1);
    uv_sem_post(&w->answer);
    uv_sem_post(&w->answer);
    while (!w->changes) uv_run(&w->loop, UV_RUN_ONCE);
    assert_int_equal(routes_choose(w->routes), 0);
}

TEST(the_end_waits_for_the_worker) {
    struct world *w = world_new();
    assign(w, 0, 1);
    assert_true(routes_end(w->routes));
    uv_sem_post(&w->answer);
    assert_int_equal(w->changes, 0);
}
