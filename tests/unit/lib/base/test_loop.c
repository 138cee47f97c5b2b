/* Timers, watches, idle work and worker threads. */
#include <sys/eventfd.h>

#include "unit/kit/kit.h"

/* A loop that must end by itself and leave nothing behind. */
static void run_out(uv_loop_t *loop) { kit_loop_end(loop); }

struct ticking {
    struct loop_timer *timer;
    int count, last;
};

static void tick(void *context) {
    struct ticking *ticking = context;
    if (++ticking->count == ticking->last) loop_timer_free(ticking->timer);
}

TEST(timer_repeats_until_freed_within) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    struct ticking ticking = {.last = 5};
    int64_t start = clock_monotonic_us();
    ticking.timer = loop_timer_new(&loop, 1, 2, tick, &ticking);
    run_out(&loop);
    assert_int_equal(ticking.count, 5);
    assert_true(clock_monotonic_us() - start >= 8000);
}

TEST(timer_without_period_fires_once) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    struct ticking ticking = {0};
    ticking.timer = loop_timer_new(&loop, 0, 0, tick, &ticking);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(ticking.count, 1);
    loop_timer_again(ticking.timer, 1, 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(ticking.count, 2);
    loop_timer_free(ticking.timer);
    loop_timer_free(NULL);
    run_out(&loop);
}

struct eager {
    struct loop_timer *timer;
    int count, *stop;
};

static void start_again(void *context) {
    struct eager *eager = context;
    eager->count++;
    if (*eager->stop)
        loop_timer_free(eager->timer);
    else
        loop_timer_again(eager->timer, 0, 0);
}

static void stop(void *context) { *(int *)context = 1; }

/* libuv 1.44 stays in one turn for ever when a timer of 0 ms starts itself again, and nothing else is served. */
TEST(timer_that_starts_itself_lets_others_run) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    int stopped = 0;
    struct eager eager = {.stop = &stopped};
    eager.timer = loop_timer_new(&loop, 0, 0, start_again, &eager);
    struct loop_timer *other = loop_timer_new(&loop, 20, 0, stop, &stopped);
    uv_run(&loop, UV_RUN_ONCE);
    assert_true(eager.count <= 20);
    while (!stopped) uv_run(&loop, UV_RUN_ONCE);
    loop_timer_free(other);
    run_out(&loop);
}

/* A loop's time is that of its last turn; a timer made long after that still waits its whole time. */
TEST(timer_counts_from_now) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    usleep(30000);
    struct ticking ticking = {.last = 1};
    int64_t start = clock_monotonic_us();
    ticking.timer = loop_timer_new(&loop, 20, 0, tick, &ticking);
    run_out(&loop);
    assert_true(clock_monotonic_us() - start >= 19000);
}

struct reading {
    struct loop_watch *watch;
    int fd;
    uint64_t sum;
};

static void take(void *context) {
    struct reading *reading = context;
    uint64_t value;
    assert_int_equal(read(reading->fd, &value, sizeof value), sizeof value);
    reading->sum += value;
    if (reading->sum >= 10) loop_watch_free(reading->watch);
}

static void add_five(void *context) {
    uint64_t five = 5;
    assert_int_equal(write(*(int *)context, &five, sizeof five), sizeof five);
}

TEST(watch_calls_when_readable) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    struct reading reading = {.fd = eventfd(0, EFD_NONBLOCK)};
    reading.watch = loop_watch_new(&loop, reading.fd, take, &reading);
    assert_non_null(reading.watch);
    struct loop_timer *first = loop_timer_new(&loop, 1, 0, add_five, &reading.fd);
    struct loop_timer *second = loop_timer_new(&loop, 5, 0, add_five, &reading.fd);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(reading.sum, 10);
    loop_timer_free(first);
    loop_timer_free(second);
    loop_watch_free(NULL);
    run_out(&loop);
    close(reading.fd);
}

TEST(watch_of_a_plain_file_is_refused) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    char path[] = "/tmp/starling-test-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    assert_null(loop_watch_new(&loop, fd, take, NULL));
    close(fd);
    run_out(&loop);
}

struct turning {
    struct loop_idle *idle;
    int count;
};

static void turn(void *context) {
    struct turning *turning = context;
    if (++turning->count == 100) loop_idle_on(turning->idle, 0);
    if (turning->count == 150) loop_idle_free(turning->idle);
}

TEST(idle_runs_while_on) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    struct turning turning = {0};
    turning.idle = loop_idle_new(&loop, turn, &turning);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(turning.count, 0);
    loop_idle_on(turning.idle, 1);
    loop_idle_on(turning.idle, 1);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(turning.count, 100);
    loop_idle_on(turning.idle, 1);
    loop_idle_free(NULL);
    run_out(&loop);
    assert_int_equal(turning.count, 150);
}

struct working {
    uv_thread_t loop_thread;
    int worked_elsewhere, done_here;
};

static void work(void *context) {
    struct working *working = context;
    uv_thread_t self = uv_thread_self();
    working->worked_elsewhere = !uv_thread_equal(&self, &working->loop_thread);
}

static void done(void *context) {
    struct working *working = context;
    uv_thread_t self = uv_thread_self();
    working->done_here = working->worked_elsewhere && uv_thread_equal(&self, &working->loop_thread);
}

TEST(work_goes_to_a_thread_and_comes_back) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    struct working working = {.loop_thread = uv_thread_self()};
    loop_work(&loop, work, done, &working);
    assert_int_equal(working.done_here, 0);
    run_out(&loop);
    assert_int_equal(working.done_here, 1);
}
