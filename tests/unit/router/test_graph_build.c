/* Tests lib/adjacency/build.c. Friend lists that are built from the beginning: random records against a table in memory, through runs in
 * memory and on disk, ends in the middle, partitions that go and come back while a worker is at it, excess, and what follows. */
#include <dirent.h>

#include "router/graph_private.h"
#include "unit/kit/kit.h"

enum { USERS = 40, PARTITION = 1, DAY_MS = 86400000 };

struct world {
    char *folder;
    struct graph *graph;
    size_t cap, build_bytes;
    int changes;
    int64_t excess[64]; /* offsets */
    size_t excess_count;
    struct friendship table[USERS][USERS];
    int64_t offset;
    uint64_t random;
};

static void changed(void *context, const struct graph_change *change) {
    struct world *w = context;
    w->changes++;
}

static void exceeded(void *context, int32_t partition, int64_t user, int64_t other, int64_t since, int64_t offset) {
    struct world *w = context;
    assert_true(w->excess_count < ARRAY_SIZE(w->excess));
    w->excess[w->excess_count++] = offset;
}

static void open_graph(struct world *w) {
    char path[80];
    snprintf(path, sizeof path, "%s/friends", w->folder);
    struct graph_options options = {.path = path,
                                    .partitions = 4,
                                    .cap = w->cap,
                                    .max_age_ms = DAY_MS * 3,
                                    .memory_bytes = 4 << 20,
                                    .build_bytes = w->build_bytes,
                                    .context = w,
                                    .on_change = changed,
                                    .on_excess = exceeded};
    if (graph_open(&options, &w->graph, &failure)) fail_msg("%s", failure.text);
}

static int64_t attach(struct world *w) {
    int64_t from;
    if (adjacency_attach(graph_lists(w->graph), PARTITION, clock_wall_ms(), &from, &failure))
        fail_msg("%s", failure.text);
    return from;
}

static void reopen(struct world *w) {
    graph_close(w->graph);
    open_graph(w);
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    w->cap = 5000;
    w->random = 11;
    w->folder = kit_folder();
    open_graph(w);
    assert_int_equal(attach(w), GRAPH_FROM_BEGINNING);
    return w;
}

TEAR_DOWN(struct world *w) { graph_close(w->graph); }

static void add(struct world *w, int64_t user, int64_t other, enum friendship_state state, int64_t since) {
    struct friendship h = {.state = state, .since = since};
    graph_add(w->graph, PARTITION, w->offset++, user, other, &h);
}

static void apply(struct world *w, bool restoring) {
    if (adjacency_apply(graph_lists(w->graph), PARTITION, w->offset, clock_wall_ms(), restoring, &failure))
        fail_msg("%s", failure.text);
}

static void finish(struct world *w) {
    if (adjacency_finish(graph_lists(w->graph), PARTITION, clock_wall_ms(), &failure)) fail_msg("%s", failure.text);
}

/* Some hundred records, as the topic would have them, in the table too. */
static void add_random(struct world *w, int count) {
    int64_t now = clock_wall_ms();
    for (int i = 0; i < count; i++) {
        uint64_t r = hash_u64(w->random++);
        int a = (int)(r % USERS), b = (int)((r >> 8) % USERS);
        if (a == b) continue;
        struct friendship h = {.state = (enum friendship_state)(r >> 20 & 3),
                               .blocked_by_me = !(r >> 24 & 7),
                               .blocked_by_them = !(r >> 28 & 7),
                               .since = now - (int64_t)(r >> 32 & 0xffff)};
        if (friendship_empty(&h)) h.since = 0;
        w->table[a][b] = h;
        graph_add(w->graph, PARTITION, w->offset++, a, b, &h);
    }
}

static void expect_table(struct world *w) {
    FREED_BY(id_list_free) struct id_list list = {.items = NULL};
    for (int a = 0; a < USERS; a++) {
        size_t count = 0;
        if (graph_friends(w->graph, PARTITION, a, &list, &failure)) fail_msg("%s", failure.text);
        for (int b = 0; b < USERS; b++) {
            if (!friendship_made(&w->table[a][b])) continue;
            assert_true(count < list.count);
            assert_int_equal(list.items[count++], b);
        }
        assert_int_equal(count, list.count);
        size_t others = 0;
        for (int b = 0; b < USERS; b++)
            others += !friendship_made(&w->table[a][b]) && !friendship_empty(&w->table[a][b]);
        assert_int_equal(others, list.others);
        for (int b = 0; b < USERS; b++) {
            struct friendship half;
            if (a == b) continue;
            if (graph_half(w->graph, PARTITION, a, b, &half, NULL, &failure)) fail_msg("%s", failure.text);
            assert_true(friendship_equal(&half, &w->table[a][b]));
        }
    }
}

/* Runs as large and as small as they come; the last record of each pair counts, in whichever run it is. */
static void built(struct world *w, size_t build_bytes, int lots, int records) {
    w->build_bytes = build_bytes;
    reopen(w);
    assert_int_equal(attach(w), GRAPH_FROM_BEGINNING);
    for (int lot = 0; lot < lots; lot++) {
        add_random(w, records);
        size_t queued = adjacency_queued(graph_lists(w->graph), PARTITION);
        assert_true(queued > 0);
        apply(w, true);
        assert_int_equal(adjacency_queued(graph_lists(w->graph), PARTITION), 0);
        assert_int_equal(adjacency_next(graph_lists(w->graph), PARTITION), w->offset);
        assert_true(adjacency_building(graph_lists(w->graph), PARTITION));
    }
    finish(w);
    assert_false(adjacency_building(graph_lists(w->graph), PARTITION));
    expect_table(w);
    assert_int_equal(w->changes, 0);
    reopen(w);
    assert_int_equal(attach(w), w->offset);
    expect_table(w);
    for (int round = 0; round < 20; round++) { // and it goes on as any family does
        add_random(w, 50);
        apply(w, round % 2);
    }
    expect_table(w);
}

TEST(test_built_in_memory, struct world *w) { built(w, 0, 7, 300); }

TEST(test_built_through_runs, struct world *w) { built(w, 0, 5, 300000); }

TEST(test_built_through_runs_on_disk, struct world *w) { built(w, 1, 6, 300000); }

TEST(test_reading_finishes, struct world *w) {
    add_random(w, 200);
    apply(w, true);
    expect_table(w);
    assert_false(adjacency_building(graph_lists(w->graph), PARTITION));
}

TEST(test_a_change_while_building_is_told, struct world *w) {
    add(w, 1, 2, FRIENDSHIP_FRIENDS, 1);
    apply(w, true);
    assert_int_equal(w->changes, 0);
    add(w, 1, 3, FRIENDSHIP_FRIENDS, 1);
    add(w, 1, 2, FRIENDSHIP_NONE, 0);
    apply(w, false);
    assert_int_equal(w->changes, 2);
    assert_int_equal(w->offset, adjacency_next(graph_lists(w->graph), PARTITION));
}

static int files_left(const struct world *w) {
    char path[96];
    int count = 0;
    snprintf(path, sizeof path, "%s/friends.build", w->folder);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* An end before the family is finished: it says that it holds nothing, and holds nothing. */
TEST(test_an_end_in_the_middle, struct world *w) {
    add_random(w, 500);
    apply(w, true);
    assert_int_equal(adjacency_touch(graph_lists(w->graph), PARTITION, clock_wall_ms(), &failure),
                     0); // must not say otherwise
    reopen(w);
    assert_int_equal(attach(w), GRAPH_FROM_BEGINNING);
    memset(w->table, 0, sizeof w->table);
    expect_table(w);

    // The worker's files are written, and never taken in: as a crash leaves it.
    w->offset = 0;
    reopen(w);
    assert_int_equal(attach(w), GRAPH_FROM_BEGINNING);
    add_random(w, 500);
    apply(w, true);
    char command[256];
    snprintf(command, sizeof command, "touch '%s/friends.build/1-lists-0.sst'", w->folder);
    assert_int_equal(system(command), 0);
    reopen(w);
    assert_int_equal(files_left(w), 0);
    assert_int_equal(attach(w), GRAPH_FROM_BEGINNING);
}

static struct adjacency_build *begin(struct world *w) {
    struct adjacency_build *build = adjacency_finish_begin(graph_lists(w->graph), PARTITION, clock_wall_ms());
    assert_non_null(build);
    assert_true(adjacency_finishing(graph_lists(w->graph), PARTITION));
    assert_null(adjacency_finish_begin(graph_lists(w->graph), PARTITION, clock_wall_ms()));
    return build;
}

static void run(struct adjacency_build *build) {
    int code = adjacency_finish_run(build, &failure);
    if (code) fail_msg("%s", failure.text);
}

static void end(struct adjacency_build *build) {
    if (adjacency_finish_end(build, 0, &failure)) fail_msg("%s", failure.text);
}

TEST(test_records_come_while_a_worker_finishes, struct world *w) {
    FREED_BY(id_list_free) struct id_list list = {.items = NULL};
    add_random(w, 500);
    apply(w, true);
    int64_t before = w->offset;
    struct adjacency_build *build = begin(w);
    add_random(w, 100);
    apply(w, true); // nothing, for now
    run(build);
    assert_int_equal(adjacency_next(graph_lists(w->graph), PARTITION), before);
    assert_int_equal(graph_friends(w->graph, PARTITION, 1, &list, &failure), -EAGAIN);
    end(build);
    apply(w, true);
    expect_table(w);
    assert_int_equal(files_left(w), 0);
}

TEST(test_detached_while_a_worker_finishes, struct world *w) {
    add_random(w, 500);
    apply(w, true);
    int64_t before = w->offset;
    struct adjacency_build *build = begin(w);
    add(w, 1, 2, FRIENDSHIP_FRIENDS, 1); // is lost: it will be read again
    adjacency_detach(graph_lists(w->graph), PARTITION);
    run(build);
    end(build);
    assert_int_equal(attach(w), before);
    expect_table(w);
}

TEST(test_back_while_a_worker_finishes, struct world *w) {
    add_random(w, 500);
    apply(w, true);
    struct adjacency_build *build = begin(w);
    int64_t before = w->offset;
    add(w, 1, 2, FRIENDSHIP_FRIENDS, 1);
    adjacency_detach(graph_lists(w->graph), PARTITION);
    w->offset = before;
    assert_int_equal(attach(w), before);
    add_random(w, 50);
    run(build);
    end(build);
    apply(w, true);
    expect_table(w);
}

static struct adjacency_build *rebuild_under_a_worker(struct world *w) {
    add_random(w, 500);
    apply(w, true);
    struct adjacency_build *build = begin(w);
    assert_int_equal(adjacency_rebuild(graph_lists(w->graph), PARTITION, &failure), 0);
    return build;
}

TEST(test_rebuilt_while_a_worker_finishes, struct world *w) {
    struct adjacency_build *build = rebuild_under_a_worker(w);
    assert_true(adjacency_building(graph_lists(w->graph),
                                   PARTITION)); // the worker has the family still: nobody may begin with it
    memset(w->table, 0, sizeof w->table);
    w->offset = 0;
    add_random(w, 300);
    run(build);
    end(build);
    apply(w, true);
    assert_true(adjacency_building(graph_lists(w->graph), PARTITION));
    finish(w);
    expect_table(w);
    reopen(w);
    assert_int_equal(attach(w), w->offset);
    expect_table(w);
}

/* The worker's result is thrown away: a user who comes back meanwhile begins anew, too. */
TEST(test_rebuilt_detached_and_back_while_a_worker_finishes, struct world *w) {
    struct adjacency_build *build = rebuild_under_a_worker(w);
    adjacency_detach(graph_lists(w->graph), PARTITION);
    assert_int_equal(attach(w), GRAPH_FROM_BEGINNING);
    memset(w->table, 0, sizeof w->table);
    w->offset = 0;
    add_random(w, 300);
    run(build);
    end(build);
    apply(w, true);
    finish(w);
    expect_table(w);
}

TEST(test_a_failure_is_told, struct world *w) {
    struct error error = {.text = ""};
    char command[160];
    add_random(w, 500);
    apply(w, true);
    snprintf(command, sizeof command, "rmdir '%s/friends.build'", w->folder);
    assert_int_equal(system(command), 0);
    assert_int_not_equal(adjacency_finish(graph_lists(w->graph), PARTITION, clock_wall_ms(), &error), 0);
    assert_non_null(strstr(error.text, "friends.build"));
    reopen(w);
    assert_int_equal(attach(w), GRAPH_FROM_BEGINNING);
}

TEST(test_excess_while_building_holds_the_offset, struct world *w) {
    w->cap = 8;
    reopen(w);
    attach(w);
    for (int i = 0; i < 10; i++) add(w, 5, 100 - i, FRIENDSHIP_FRIENDS, 50 + i);
    add(w, 5, 100, FRIENDSHIP_NONE, 0); // the first has gone again: one is too many
    add(w, 6, 1, FRIENDSHIP_FRIENDS, 1);
    apply(w, true);
    assert_int_equal(w->excess_count, 0); // not known before it is finished
    finish(w);
    assert_int_equal(w->excess_count, 1);
    assert_int_equal(w->excess[0], 9);
    reopen(w);
    assert_int_equal(attach(w), 9);
}
