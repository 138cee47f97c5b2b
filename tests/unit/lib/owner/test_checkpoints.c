/* Checkpoints of friend lists: made by a worker while the graph goes on, kept in number, and what a graph without data starts
 * from: the newest that is whole, can be read and is not too old. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "owner/checkpoints.h"
#include "router/graph_private.h"
#include "unit/kit/kit.h"

enum { PARTITION = 2, HOUR_MS = 3600000, USERS = 50 };

struct world {
    char *folder, store[96], checkpoints[96];
    uv_loop_t loop;
    struct metrics *metrics;
    struct checkpoints_options options;
    struct checkpoints *made;
    struct graph *graph;
    int64_t now, next;
    int opened, code; /* how often on_opened was called, and with what */
};

static void changed(void *context, const struct graph_change *change) {}

static void exceeded(void *context, int32_t partition, int64_t user, int64_t other, int64_t since, int64_t offset) {}

static void opened(void *context, int code, const struct error *error) {
    struct world *w = context;
    w->opened++;
    w->code = code;
}

static int open_store(void *context, struct error *error) {
    struct world *w = context;
    struct graph_options options = {.path = w->store,
                                    .partitions = 4,
                                    .cap = 5000,
                                    .max_age_ms = 84 * (int64_t)HOUR_MS,
                                    .on_change = changed,
                                    .on_excess = exceeded};
    return graph_open(&options, &w->graph, error);
}

static int make_checkpoint(void *context, const char *path, struct error *error) {
    struct world *w = context;
    return adjacency_checkpoint(graph_lists(w->graph), path, error);
}

/* Whether it has to be waited for. */
static bool begin_to_open(struct world *w) {
    w->made = checkpoints_new(&w->options);
    int code = checkpoints_open(w->made, &failure);
    if (code < 0) fail_msg("%s", failure.text);
    assert_int_equal(checkpoints_busy(w->made), code);
    return code;
}

static void open_graph(struct world *w) {
    w->opened = 0;
    bool wait = begin_to_open(w);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(w->opened, wait);
    assert_int_equal(w->code, 0);
    assert_false(checkpoints_busy(w->made));
    assert_non_null(w->graph);
}

static void close_graph(struct world *w) {
    checkpoints_free(w->made);
    graph_close(w->graph);
    w->made = NULL;
    w->graph = NULL;
}

static void shell(const char *doing, const char *path) {
    FREED char *command = mem_format("%s '%s'", doing, path);
    assert_int_equal(system(command), 0);
}

static int64_t attach(struct world *w) {
    int64_t from;
    if (adjacency_attach(graph_lists(w->graph), PARTITION, clock_wall_ms(), &from, &failure))
        fail_msg("%s", failure.text);
    return from;
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    w->folder = kit_folder();
    snprintf(w->store, sizeof w->store, "%s/data/friends", w->folder);
    snprintf(w->checkpoints, sizeof w->checkpoints, "%s/kept/here", w->folder);
    uv_loop_init(&w->loop);
    w->metrics = kit_metrics();
    w->now = clock_wall_ms();
    w->options = (struct checkpoints_options){.loop = &w->loop,
                                              .log = NULL,
                                              .metrics = w->metrics,
                                              .prefix = "test",
                                              .path = w->store,
                                              .max_age_ms = 84 * (int64_t)HOUR_MS,
                                              .open = open_store,
                                              .make = make_checkpoint,
                                              .folder = w->checkpoints,
                                              .every_ms = 1000,
                                              .keep = 2,
                                              .context = w,
                                              .on_opened = opened};
    open_graph(w);
    assert_int_equal(attach(w), GRAPH_FROM_BEGINNING);
    return w;
}

TEAR_DOWN(struct world *w) {
    close_graph(w);
    assert_int_equal(uv_loop_close(&w->loop), 0);
}

/* User u becomes a friend of one more: of `next`. */
static void befriend_all(struct world *w) {
    int64_t other = 1000 + w->next;
    for (int64_t user = 0; user < USERS; user++) {
        struct friendship half = {.state = FRIENDSHIP_FRIENDS, .since = 1};
        graph_add(w->graph, PARTITION, w->next++, user, other, &half);
    }
    if (adjacency_apply(graph_lists(w->graph), PARTITION, w->next, clock_wall_ms(), false, &failure))
        fail_msg("%s", failure.text);
}

static void expect_friends(struct world *w, size_t count) {
    FREED_BY(id_list_free) struct id_list list = {.items = NULL};
    for (int64_t user = 0; user < USERS; user++) {
        if (graph_friends(w->graph, PARTITION, user, &list, &failure)) fail_msg("%s", failure.text);
        assert_int_equal(list.count, count);
    }
}

static void make(struct world *w) {
    checkpoints_second(w->made, true, w->now);
    assert_true(checkpoints_busy(w->made));
    befriend_all(w); // goes on meanwhile
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_false(checkpoints_busy(w->made));
    w->now += 2000;
}

/* What is in the folder, as one line. */
static size_t kept(struct world *w) {
    size_t count = 0;
    DIR *dir = opendir(w->checkpoints);
    for (struct dirent *entry; dir && (entry = readdir(dir));) count += entry->d_name[0] != '.';
    if (dir) closedir(dir);
    return count;
}

static void lose_data(struct world *w) {
    close_graph(w);
    shell("rm -rf", w->store);
}

TEST(test_starts_from_the_newest, struct world *w) {
    for (int i = 0; i < 4; i++) {
        befriend_all(w);
        make(w);
    }
    assert_int_equal(kept(w), 2);
    assert_true(metrics_counter(w->metrics, "test_checkpoints_total", "", "result=\"made\"")->value == 4);
    assert_true(metrics_counter(w->metrics, "test_checkpoints_total", "", "result=\"failed\"")->value == 0);
    lose_data(w);
    open_graph(w);
    assert_int_equal(w->opened, 1);
    int64_t from = attach(w);
    // The last friends came while the checkpoint was made: it has them, or says that it has not.
    assert_true(from == w->next || from == w->next - USERS);
    expect_friends(w, (size_t)from / USERS);
    // And it is not shared: what is written now is not in the checkpoint.
    w->next = from;
    befriend_all(w);
    lose_data(w);
    open_graph(w);
    assert_int_equal(attach(w), from);
    expect_friends(w, (size_t)from / USERS);
}

TEST(test_local_data_is_better, struct world *w) {
    befriend_all(w);
    make(w);
    befriend_all(w);
    close_graph(w);
    open_graph(w);
    assert_int_equal(attach(w), w->next);
}

TEST(test_when_they_are_made, struct world *w) {
    checkpoints_second(w->made, false, w->now); // lists are not whole
    assert_false(checkpoints_busy(w->made));
    make(w);
    checkpoints_second(w->made, true, w->now - 1500);
    assert_false(checkpoints_busy(w->made));
    // A restart does not begin to count anew.
    close_graph(w);
    open_graph(w);
    checkpoints_second(w->made, true, w->now - 1500);
    assert_false(checkpoints_busy(w->made));
    attach(w);
    make(w);
    assert_int_equal(kept(w), 2);
}

TEST(test_the_damaged_the_old_and_the_half_made_are_not_used, struct world *w) {
    befriend_all(w);
    make(w);
    int64_t good = w->now - 2000;
    // Newer ones: copied half, never finished, not a store at all; and nothing but an old one.
    FREED char *path = mem_format("%s/checkpoint-%013lld", w->checkpoints, (long long)good);
    char *command = mem_format("cd '%s' && cp -r %s checkpoint-%013lld && rm checkpoint-%013lld/*.sst && "
                               "cp -r %s checkpoint-%013lld.tmp && mkdir checkpoint-%013lld",
                               w->checkpoints, path, (long long)good + 1, (long long)good + 1, path,
                               (long long)good + 2, (long long)good + 3);
    assert_int_equal(system(command), 0);
    lose_data(w);
    open_graph(w);
    int64_t from = attach(w);
    assert_true(from > 0);
    expect_friends(w, (size_t)from / USERS);

    lose_data(w);
    free(command);
    command =
        mem_format("cd '%s' && mv %s checkpoint-%013lld && rm -r checkpoint-%013lld checkpoint-%013lld", w->checkpoints,
                   path, (long long)good - 85 * (long long)HOUR_MS, (long long)good + 1, (long long)good + 3);
    assert_int_equal(system(command), 0);
    open_graph(w);
    assert_int_equal(attach(w), GRAPH_FROM_BEGINNING);
    w->next = 0;
    // The next one sweeps up what was never finished.
    assert_int_equal(kept(w), 2);
    make(w);
    assert_int_equal(kept(w), 2);
    free(command);
}

/* Into the only checkpoint, a file that cannot be read to its end until somebody has written it. */
static char *add_slow_file(struct world *w) {
    befriend_all(w);
    make(w);
    lose_data(w);
    char *path =
        mem_format("%s/checkpoint-%013lld/zz-slow", w->checkpoints, (long long)w->now - 2000 /* what make added */);
    assert_int_equal(mkfifo(path, 0600), 0);
    return path;
}

/* How long a copy takes does not hold up the loop, which answers whether the process lives. */
TEST(test_the_loop_goes_on_while_a_checkpoint_is_copied, struct world *w) {
    FREED char *slow = add_slow_file(w);
    w->opened = 0;
    assert_true(begin_to_open(w));
    for (int turn = 0; turn < 100; turn++) {
        uv_run(&w->loop, UV_RUN_NOWAIT);
        usleep(1000);
    }
    assert_true(checkpoints_busy(w->made));
    assert_int_equal(w->opened, 0);
    int file = open(slow, O_WRONLY);
    assert_int_equal(write(file, "x", 1), 1);
    close(file);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(w->opened, 1);
    assert_int_equal(w->code, 0);
    assert_true(attach(w) > 0);
}

TEST(test_a_copy_can_be_given_up, struct world *w) {
    FREED char *slow = add_slow_file(w), *part = mem_format("%s.part", w->store);
    w->opened = 0;
    assert_true(begin_to_open(w));
    int file = open(slow, O_WRONLY); // when it is being read
    checkpoints_stop(w->made);
    assert_int_equal(write(file, "x", 1), 1);
    close(file);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(w->opened, 1);
    assert_int_equal(w->code, -ECANCELED);
    assert_null(w->graph);
    assert_int_not_equal(access(w->store, F_OK), 0);
    assert_int_not_equal(access(part, F_OK), 0);
}

/* Two processes that were given the same folder by mistake: the slower one must not take the other's store for what it has copied
 * itself. */
TEST(test_a_store_that_somebody_else_has_opened_meanwhile_stays, struct world *w) {
    struct graph *others;
    int64_t from;
    FREED char *slow = add_slow_file(w);
    w->opened = 0;
    assert_true(begin_to_open(w));
    struct graph_options options = {.path = w->store, .partitions = 4, .cap = 5000, .max_age_ms = HOUR_MS};
    assert_int_equal(graph_open(&options, &others, &failure), 0);
    assert_int_equal(adjacency_attach(graph_lists(others), PARTITION, w->now, &from, &failure), 0);
    int file = open(slow, O_WRONLY);
    assert_int_equal(write(file, "x", 1), 1);
    close(file);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(w->opened, 1);
    assert_int_equal(w->code, -EBUSY);
    assert_null(w->graph);
    assert_int_equal(access(w->store, F_OK), 0);
    assert_int_equal(adjacency_apply(graph_lists(others), PARTITION, 7, w->now, false, &failure), 0);
    graph_close(others);
    assert_int_equal(graph_open(&options, &others, &failure), 0);
    assert_int_equal(adjacency_attach(graph_lists(others), PARTITION, w->now, &from, &failure), 0);
    assert_int_equal(from, 7);
    graph_close(others);
}

TEST(test_a_failure_is_counted, struct world *w) {
    FREED char *file = mem_format("%s/kept", w->folder); // no folder can be made there
    shell("touch", file);
    make(w);
    assert_true(metrics_counter(w->metrics, "test_checkpoints_total", "", "result=\"failed\"")->value == 1);
    assert_int_equal(kept(w), 0);
}
