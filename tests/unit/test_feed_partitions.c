/* The partitions of a feed process whose stores are damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "feed/partitions.h"

enum { PARTITIONS = 2, P = 1 };

struct world {
    char folder[64];
    uv_loop_t loop;
    struct log *log;
    FILE *lines;
    char *text; /* what was logged */
    size_t size;
    struct relation_lists *relations;
    struct store *store;
    struct ages *ages;
    struct epochs *epochs;
    struct metrics *metrics;
    struct partitions_options options;
    struct partitions *partitions;
};

static void failed(void *context, const char *doing, const struct error *error) {
    fail_msg("%s: %s", doing, error->text);
}

static void begin(struct world *w) {
    struct error error;
    char path[96];
    *w = (struct world){.folder = "/tmp/starling-parts-XXXXXX", .epochs = epochs_new(), .metrics = metrics_new()};
    assert_non_null(mkdtemp(w->folder));
    w->lines = open_memstream(&w->text, &w->size);
    w->log = log_new(w->lines, "test", LOG_ERROR_LEVEL, LOG_LOGFMT);
    uv_loop_init(&w->loop);
    snprintf(path, sizeof path, "%s/posts", w->folder);
    const struct store_options store = {.cache_bytes = 4 << 20, .memtable_bytes = 4 << 20, .point_lookups = true};
    assert_int_equal(store_open(path, &store, &w->store, &error), 0);
    snprintf(path, sizeof path, "%s/follows", w->folder);
    const struct relation_lists_options lists = {
        .path = path, .partitions = PARTITIONS, .memory_bytes = 4 << 20, .max_age_ms = INT64_C(86400000)};
    assert_int_equal(relation_lists_open(&lists, &w->relations, &error), 0);
    assert_int_equal(ages_open(w->store, &w->ages, &error), 0);
    w->options = (struct partitions_options){
        .loop = &w->loop,
        .log = w->log,
        .partitions = PARTITIONS,
        .relations = w->relations,
        .posts = posts_new(w->store, PARTITIONS, INT64_C(1) << 50),
        .blocks = blocks_new(w->store, PARTITIONS),
        .names = names_new(w->store, PARTITIONS),
        .notices = notices_new(w->store, PARTITIONS),
        .inboxes = inboxes_new(&(struct inboxes_options){
            .store = w->store, .partitions = PARTITIONS, .max = 10, .memory_bytes = 1 << 20, .away_ms = 1 << 30}),
        .refusals = refusals_new(PARTITIONS),
        .ages = w->ages,
        .max_age_ms = INT64_C(86400000),
        .epochs = w->epochs,
        .watches =
            watches_new(&(struct watches_options){.loop = &w->loop, .metrics = w->metrics, .partitions = PARTITIONS}),
        .context = w,
        .failed = failed,
    };
    w->partitions = partitions_new(&w->options);
}

static void end(struct world *w) {
    char remove[128];
    partitions_free(w->partitions);
    refusals_free(w->options.refusals);
    watches_free(w->options.watches);
    metrics_free(w->metrics);
    inboxes_free(w->options.inboxes);
    names_free(w->options.names);
    notices_free(w->options.notices);
    table_store_free(w->options.blocks);
    posts_free(w->options.posts);
    ages_close(w->ages);
    relation_lists_close(w->relations);
    store_close(w->store);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    epochs_free(w->epochs);
    log_free(w->log);
    fclose(w->lines);
    free(w->text);
    snprintf(remove, sizeof remove, "rm -rf '%s'", w->folder);
    assert_int_equal(system(remove), 0);
}

static void attach(struct world *w, int64_t from[STATES_OF_FEED]) {
    struct error error;
    assert_int_equal(partitions_attach(w->partitions, P, from, &error), 0);
}

/* Between the report and the turn of the loop that mends it, the partition goes to another process. When it comes back, there is
 * nothing left that could be found damaged once more. */
static void a_damaged_partition_that_is_given_up_comes_back_empty(void **state) {
    const struct relation_half half = {.user = 1, .other = 2, .relation = RELATION_FOLLOWING};
    const struct post post = {.state = POST_LIVE};
    struct error error;
    struct world w;
    int64_t from[STATES_OF_FEED];
    begin(&w);
    attach(&w, from);
    assert_int_equal(from[STATE_FOLLOWS], KAFKA_OFFSET_BEGINNING);
    int64_t now = clock_wall_ms();
    relation_lists_take(w.relations, P, 0, now, &half, true);
    assert_int_equal(relation_lists_apply(w.relations, P, 5, now, true, &error), 0);
    assert_int_equal(relation_lists_finish(w.relations, P, now, &error), 0);
    posts_take_index(w.options.posts, P, 6, 1, 77, &post);
    assert_int_equal(posts_write(w.options.posts, &error), 0);
    partitions_detach(w.partitions, P);
    attach(&w, from);
    assert_int_equal(from[STATE_FOLLOWS], 5);
    assert_int_equal(from[STATE_POSTS], 7);

    error_set(&error, -1, "a list is cut short");
    partitions_damaged(w.partitions, P, &error);
    partitions_damaged(w.partitions, P, &error);
    fflush(w.lines);
    const char *told = strstr(w.text, "is damaged");
    assert_true(told && !strstr(told + 1, "is damaged"));
    partitions_detach(w.partitions, P);
    attach(&w, from);
    for (size_t s = 0; s < STATE_TIMELINES; s++) assert_int_equal(from[s], KAFKA_OFFSET_BEGINNING);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_partition_that_is_given_up_comes_back_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
