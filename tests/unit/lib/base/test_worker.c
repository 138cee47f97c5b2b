/* A worker: order, threads, and when it may be freed. */
#include <semaphore.h>

#include "base/worker.h"
#include "unit/kit/kit.h"

enum { JOBS = 200 };

struct world {
    uv_loop_t loop;
    struct worker *worker;
    uv_thread_t loop_thread;
    sem_t gate; /* the job `wait_at_gate` waits for it */
    int worked[JOBS], work_count, done[JOBS], done_count;
    bool elsewhere, busy_within_done;
};

struct numbered {
    struct world *world;
    int number;
};

SET_UP() {
    struct world *world = kit_zero(sizeof *world);
    uv_loop_init(&world->loop);
    sem_init(&world->gate, 0, 0);
    world->loop_thread = uv_thread_self();
    world->worker = worker_new(&world->loop);
    return world;
}

TEAR_DOWN(struct world *world) {
    worker_free(world->worker);
    kit_loop_end(&world->loop);
    sem_destroy(&world->gate);
}

static bool on_loop_thread(const struct world *world) {
    uv_thread_t self = uv_thread_self();
    return uv_thread_equal(&self, &world->loop_thread);
}

static void note_work(void *context) {
    struct numbered *job = context;
    struct world *world = job->world;
    world->elsewhere = !on_loop_thread(world);
    world->worked[world->work_count++] = job->number;
}

static void note_done(void *context) {
    struct numbered *job = context;
    struct world *world = job->world;
    assert_true(on_loop_thread(world));
    world->done[world->done_count++] = job->number;
    world->busy_within_done = worker_busy(world->worker);
}

static void wait_at_gate(void *context) {
    struct numbered *job = context;
    sem_wait(&job->world->gate);
    note_work(context);
}

TEST(jobs_run_in_order_elsewhere_and_come_back_in_order, struct world *world) {
    struct numbered jobs[JOBS];
    assert_false(worker_busy(world->worker));
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct numbered){.world = world, .number = i};
        worker_run(world->worker, note_work, note_done, &jobs[i]);
    }
    assert_true(worker_busy(world->worker));
    assert_int_equal(uv_run(&world->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(world->done_count, JOBS);
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(world->worked[i], i);
        assert_int_equal(world->done[i], i);
    }
    assert_true(world->elsewhere);
    assert_false(world->busy_within_done);
    assert_false(worker_busy(world->worker));
}

static void open_gate(void *context) { sem_post(context); }

TEST(a_loop_goes_on_while_a_job_blocks, struct world *world) {
    struct numbered slow = {.world = world};
    worker_run(world->worker, wait_at_gate, note_done, &slow);
    // Only the loop can let the job go on.
    struct loop_timer *timer = loop_timer_new(&world->loop, 5, 0, open_gate, &world->gate);
    assert_int_equal(uv_run(&world->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(world->done_count, 1);
    loop_timer_free(timer);
}

TEST(a_slow_worker_does_not_hold_up_another, struct world *world) {
    struct worker *other = worker_new(&world->loop);
    struct numbered slow = {.world = world, .number = 1}, quick = {.world = world, .number = 2};
    worker_run(world->worker, wait_at_gate, note_done, &slow);
    worker_run(other, note_work, note_done, &quick);
    while (!world->done_count) uv_run(&world->loop, UV_RUN_ONCE);
    assert_int_equal(world->done[0], 2);
    sem_post(&world->gate);
    assert_int_equal(uv_run(&world->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(world->done[1], 1);
    worker_free(other);
}

static void give_another(void *context) {
    struct numbered *job = context;
    note_done(context);
    if (job->world->done_count < JOBS) worker_run(job->world->worker, note_work, give_another, job);
}

TEST(done_may_give_the_next_job, struct world *world) {
    struct numbered job = {.world = world};
    worker_run(world->worker, note_work, give_another, &job);
    assert_int_equal(uv_run(&world->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(world->done_count, JOBS);
}

static void free_worker(void *context) {
    struct numbered *job = context;
    worker_free(job->world->worker);
    job->world->worker = NULL;
}

TEST(done_of_the_last_job_may_free_the_worker, struct world *world) {
    struct numbered job = {.world = world};
    worker_run(world->worker, note_work, note_done, &job);
    worker_run(world->worker, note_work, free_worker, &job);
    assert_int_equal(uv_run(&world->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(world->work_count, 2);
    assert_null(world->worker);
}
