/* Lists as a kind of store: what is applied at once, what waits, and what is told of it. */
#include "adjacency/lots.h"
#include "adjacency/private.h"
#include "base/bytes.h"
#include "state/list_store.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, P = 1, OTHER = 2, OWNER = 7 };

struct world {
    char *path;
    uv_loop_t loop;
    struct adjacency *lists;
    struct list_store *store;
    int64_t offsets[PARTITIONS];
    size_t changes, applied, emptied, failed;
    int32_t failed_partition;
    int lives;
};

static void on_change(void *context, struct adjacency_list list, int64_t id, uint8_t before, uint8_t now) {
    ((struct world *)context)->changes++;
}

/* The key is the id. */
static const char *read_record(void *context, const struct kafka_record *record, struct list_entry *entry,
                               struct error *error) {
    if (record->key_size != 8) return "no id";
    *entry = (struct list_entry){.list = {.owner = OWNER, .partition = record->partition},
                                 .id = (int64_t)bytes_get_be64(record->key),
                                 .tag = record->value ? ADJACENCY_MEMBER : ADJACENCY_NONE};
    return NULL;
}

static void applied(void *context, int32_t partition, size_t count, bool restoring) {
    ((struct world *)context)->applied += count;
}

static void failed(void *context, int32_t partition, int code, const struct error *error) {
    struct world *w = context;
    assert_int_equal(code, -EBADMSG);
    w->failed++;
    w->failed_partition = partition;
}

static void emptied(void *context, int32_t partition) { ((struct world *)context)->emptied++; }
static void lives(void *context, int32_t partition, bool live) { ((struct world *)context)->lives += live ? 1 : -1; }

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    w->path = mem_format("%s/lists", kit_folder());
    uv_loop_init(&w->loop);
    const struct adjacency_options lists = {.path = w->path,
                                            .name = "lists",
                                            .partitions = PARTITIONS,
                                            .kinds = 1,
                                            .max_age_ms = ADJACENCY_DAY_MS,
                                            .memory_bytes = 4 << 20,
                                            .context = w,
                                            .on_change = on_change};
    assert_int_equal(adjacency_open(&lists, &w->lists, &failure), 0);
    w->store = list_store_new(&(struct list_store_options){.lists = w->lists,
                                                           .partitions = PARTITIONS,
                                                           .loop = &w->loop,
                                                           .context = w,
                                                           .read = read_record,
                                                           .applied = applied,
                                                           .failed = failed,
                                                           .emptied = emptied,
                                                           .lives = lives});
    for (int32_t p = P; p < PARTITIONS; p++)
        assert_int_equal(LIST_STORE_KIND.open(w->store, p, clock_wall_ms(), 0, &failure), 0);
    assert_int_equal(w->emptied, 2);
    return w;
}

TEAR_DOWN(struct world *w) {
    list_store_free(w->store);
    adjacency_close(w->lists);
    kit_loop_end(&w->loop);
    free(w->path);
}

static const char *take_at(struct world *w, int32_t partition, int64_t offset, int64_t id, bool on) {
    uint8_t key[8];
    const char *reason = NULL;
    bytes_put_be64(key, (uint64_t)id);
    const struct kafka_record record = {
        .partition = partition, .offset = offset, .key = key, .key_size = id < 0 ? 1 : 8, .value = on ? key : NULL};
    assert_int_equal(LIST_STORE_KIND.take(w->store, 0, &record, &reason, &failure), 0);
    return reason;
}

static void take(struct world *w, int32_t partition, int64_t id) {
    assert_null(take_at(w, partition, w->offsets[partition]++, id, true));
}

static void write_all(struct world *w) { assert_int_equal(LIST_STORE_KIND.write(w->store, &failure), 0); }

static void set_live(struct world *w, int32_t partition, bool live) {
    assert_int_equal(LIST_STORE_KIND.live(w->store, partition, live, &failure), 0);
}

static size_t members(struct world *w, int32_t partition) {
    size_t count;
    const struct adjacency_list list = {.owner = OWNER, .partition = partition};
    assert_int_equal(adjacency_count(w->lists, list, &count, &failure), 0);
    return count;
}

static int64_t next(struct world *w, int32_t partition) { return LIST_STORE_KIND.next(w->store, partition, 0); }
static int64_t unbuilt(struct world *w, int32_t partition) { return LIST_STORE_KIND.unbuilt(w->store, partition); }

TEST(test_lists_are_built_when_all_is_read, struct world *w) {
    void *build = NULL;
    for (int64_t id = 0; id < 3; id++) take(w, P, id);
    write_all(w);
    assert_true(unbuilt(w, P) && !unbuilt(w, OTHER) && !w->applied && next(w, P) == -1);
    assert_int_equal(LIST_STORE_KIND.build_begin(w->store, P, clock_wall_ms(), &build, &failure), 0);
    assert_non_null(build);
    take(w, P, 3); // in the meantime
    write_all(w);
    int code = LIST_STORE_KIND.build_run(build, &failure);
    assert_int_equal(LIST_STORE_KIND.build_end(w->store, P, build, code, clock_wall_ms(), &failure), 0);
    assert_true(!unbuilt(w, P) && next(w, P) == 4 && members(w, P) == 4);
    assert_true(w->applied == 4 && w->changes == 0); // nobody waits for what was there before
    set_live(w, P, true);
    set_live(w, OTHER, true); // of an empty topic
    assert_true(w->lives == 2 && members(w, OTHER) == 0);
}

TEST(test_few_records_are_applied_at_once_and_many_wait, struct world *w) {
    set_live(w, P, true);
    take(w, P, 1);
    assert_string_equal(take_at(w, P, w->offsets[P]++, -1, true), "no id");
    write_all(w);
    assert_true(w->changes == 1 && members(w, P) == 1);
    assert_true(list_store_held(w->store, P) == INT64_MAX && !unbuilt(w, P));
    assert_null(take_at(w, P, 0, 1, false)); // it was taken before
    write_all(w);
    assert_int_equal(members(w, P), 1);
    for (int64_t id = 0; id < LOTS_MANY; id++) take(w, P, 10 + id);
    write_all(w);
    assert_true(w->changes == 1 && unbuilt(w, P) && list_store_held(w->store, P) == next(w, P));
    while (w->changes == 1) uv_run(&w->loop, UV_RUN_ONCE); // until the lot is due
    assert_true(w->changes == 1 + LOTS_MANY && !unbuilt(w, P) && next(w, P) == w->offsets[P]);
    for (int64_t id = 0; id < LOTS_MANY; id++) take(w, P, 10000 + id);
    write_all(w);
    set_live(w, P, false); // what was read while it was live is told
    assert_true(w->changes == 1 + 2 * LOTS_MANY && w->lives == 0);
    take(w, P, 5);
    write_all(w);
    assert_int_equal(members(w, P), 2 + 2 * LOTS_MANY);
    assert_int_equal(w->changes, 1 + 2 * LOTS_MANY); // another process tells it
}

TEST(test_a_damaged_list_is_told_by_its_partition, struct world *w) {
    static const uint8_t DAMAGED[] = {0x80, 0x80, 0x80};
    struct adjacency_key key = adjacency_root_key(OWNER, 0);
    for (int32_t p = P; p < PARTITIONS; p++) {
        set_live(w, p, true);
        take(w, p, 1);
    }
    write_all(w);
    store_batch_clear(w->lists->batch);
    store_batch_put(w->lists->batch, w->lists->parts[P].family, key.bytes, key.size, DAMAGED, sizeof DAMAGED);
    assert_int_equal(store_write(w->lists->store, w->lists->batch, false, &failure), 0);
    for (int32_t p = P; p < PARTITIONS; p++) take(w, p, 2);
    write_all(w);
    assert_true(w->failed == 1 && w->failed_partition == P && members(w, OTHER) == 2);
    set_live(w, P, false);
    assert_int_equal(LIST_STORE_KIND.reset(w->store, P, clock_wall_ms(), &failure), 0);
    assert_true(next(w, P) == -1 && w->emptied == 3);
    for (int64_t offset = 0; offset < 2; offset++) assert_null(take_at(w, P, offset, 1 + offset, true));
    set_live(w, P, true);
    assert_int_equal(members(w, P), 2);
    LIST_STORE_KIND.close(w->store, P);
    assert_true(w->emptied == 4);
}
