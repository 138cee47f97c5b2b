/* Both stores of a feed process come back from checkpoints. */
#include "feed/posts.h"
#include "feed/stores.h"
#include "unit/feed/relation_steps.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 2, P = 1, EVERY_MS = 1000 };

struct world {
    char *folder;
    char *data, *checkpoints;
    uv_loop_t loop;
    struct log *log;
    struct metrics *metrics;
    struct stores *stores;
    bool opened;
};

static void opened(void *context, int code, const struct error *error) {
    if (code) fail_msg("%d %s", code, error->text);
    ((struct world *)context)->opened = true;
}

static void open_stores(struct world *w) {
    w->metrics = kit_metrics();
    w->stores = stores_new(&(struct stores_options){
        .loop = &w->loop,
        .log = w->log,
        .metrics = w->metrics,
        .folder = w->data,
        .partitions = PARTITIONS,
        .memory_bytes = 16 << 20,
        .max_age_ms = INT64_C(86400000),
        .checkpoint_folder = w->checkpoints,
        .checkpoint_every_ms = EVERY_MS,
        .checkpoint_keep = 2,
        .context = w,
        .on_opened = opened,
    });
    w->opened = false;
    int code = stores_open(w->stores, &failure);
    if (code < 0) fail_msg("%d %s", code, failure.text);
    while (code && !w->opened) uv_run(&w->loop, UV_RUN_ONCE); // a worker copies them, one after the other
}

static void close_stores(struct world *w) {
    while (stores_busy(w->stores)) uv_run(&w->loop, UV_RUN_ONCE);
    stores_free(w->stores);
}

static void begin(struct world *w) {
    *w = (struct world){.folder = kit_folder()};
    w->data = mem_format("%s/data", w->folder);
    w->checkpoints = mem_format("%s/checkpoints", w->folder);
    w->log = kit_log();
    uv_loop_init(&w->loop);
    open_stores(w);
}

static void end(struct world *w) {
    close_stores(w);
    kit_loop_end(&w->loop);
    free(w->data);
    free(w->checkpoints);
    kit_remove(w->folder);
}

/* Attaches the partition in both; where their topics are to be read from. */
static struct posts *attach(struct world *w, int64_t *follows, int64_t *index) {
    struct posts *posts = posts_new(stores_posts(w->stores), PARTITIONS, INT64_C(1) << 50);
    assert_int_equal(posts_open(posts, P, 0, 0, &failure), 0);
    *index = posts_next(posts, P, 0);
    assert_int_equal(relation_lists_attach(stores_relations(w->stores), P, clock_wall_ms(), follows, &failure), 0);
    return posts;
}

TEST(a_lost_disk_comes_back) {
    const struct relation_half half = {.user = 1, .other = 2, .relation = RELATION_FOLLOWING};
    const struct post post = {.state = POST_LIVE};
    FREED_BY(end) struct world w;
    struct post_found found;
    int64_t follows, index, now = clock_wall_ms();
    bool has = false;
    begin(&w);
    struct posts *posts = attach(&w, &follows, &index);
    assert_true(follows < 0 && index < 0);
    relation_lists_take(stores_relations(w.stores), P, 0, now, &half, true);
    assert_int_equal(relation_lists_apply(stores_relations(w.stores), P, 5, now, true, &failure), 0);
    assert_int_equal(relation_lists_finish(stores_relations(w.stores), P, now, &failure), 0);
    posts_take_index(posts, P, 6, 1, 77, &post);
    assert_int_equal(posts_write(posts, &failure), 0);
    posts_free(posts);
    for (int i = 0; i < 3; i++) { // the first call says from when on one is due
        now += 2 * EVERY_MS;
        stores_second(w.stores, true, now);
        while (stores_busy(w.stores)) uv_run(&w.loop, UV_RUN_ONCE);
    }
    close_stores(&w);

    FREED char *remove = mem_format("rm -rf '%s'", w.data);
    assert_int_equal(system(remove), 0);
    open_stores(&w);
    posts = attach(&w, &follows, &index);
    assert_int_equal(follows, 5);
    assert_int_equal(index, 7);
    assert_int_equal(relation_lists_has(stores_relations(w.stores), P, &half, &has, NULL, &failure), 0);
    assert_true(has);
    assert_int_equal(posts_find(posts, P, 77, &found, &failure), 0);
    assert_true(found.found && found.author == 1);
    posts_free(posts);
}
