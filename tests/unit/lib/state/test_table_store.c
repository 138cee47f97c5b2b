/* Rows and how far their topics are read are of the same moment; what is old, of another version, or reset is gone. */
#include "state/table_store.h"
#include "unit/kit/kit.h"

enum { P = 1, PARTITIONS = 2, TOPICS = 2, NOW = 1000 };

struct disk {
    char *folder;
    struct store *store;
    struct table_store *table;
    struct buffer value;
};

static struct table_store_options how(struct disk *disk, int64_t version) {
    return (struct table_store_options){.store = disk->store,
                                        .partitions = PARTITIONS,
                                        .families = {"rows", "more"},
                                        .topics = TOPICS,
                                        .numbers = 'm',
                                        .version = version,
                                        .sorted = true};
}

/* The process begins again, with what is on the disk. */
static void begin(struct disk *disk, int64_t version, int64_t since_ms) {
    struct table_store_options options = how(disk, version);
    table_store_free(disk->table);
    disk->table = table_store_new(&options);
    assert_int_equal(table_store_open(disk->table, P, NOW, since_ms, &failure), 0);
}

SET_UP() {
    struct disk *disk = kit_zero(sizeof *disk);
    disk->folder = kit_folder();
    assert_int_equal(store_open(disk->folder, &(struct store_options){.memory_bytes = 0}, &disk->store, &failure), 0);
    begin(disk, 1, 0);
    return disk;
}

TEAR_DOWN(struct disk *disk) {
    table_store_free(disk->table);
    store_close(disk->store);
    buffer_free(&disk->value);
}

static void put(struct disk *disk, size_t family, const char *key) {
    store_batch_put(table_store_batch(disk->table), table_store_family(disk->table, P, family), key, strlen(key), "v",
                    1);
}

static bool has(struct disk *disk, size_t family, const char *key) {
    int code =
        store_get(disk->store, table_store_family(disk->table, P, family), key, strlen(key), &disk->value, &failure);
    assert_true(code >= 0);
    return code;
}

/* A row in each family, of offsets 6 and 8, and the mark 70. */
static void fill(struct disk *disk) {
    put(disk, 0, "a");
    put(disk, 1, "b");
    table_store_pass(disk->table, P, 0, 7);
    table_store_pass(disk->table, P, 1, 9);
    table_store_raise(disk->table, P, 70);
    table_store_raise(disk->table, P, 69);
    assert_int_equal(table_store_write(disk->table, &failure), 0);
}

static void assert_full(struct disk *disk) {
    assert_true(has(disk, 0, "a") && has(disk, 1, "b"));
    assert_true(table_store_next(disk->table, P, 0) == 7 && table_store_next(disk->table, P, 1) == 9);
    assert_int_equal(table_store_mark(disk->table, P), 70);
}

static void assert_empty(struct disk *disk) {
    assert_false(has(disk, 0, "a") || has(disk, 1, "b"));
    assert_true(table_store_next(disk->table, P, 0) == -1 && table_store_next(disk->table, P, 1) == -1);
    assert_int_equal(table_store_mark(disk->table, P), -1);
}

TEST(test_offsets_are_those_of_the_rows, struct disk *disk) {
    assert_empty(disk);
    fill(disk);
    put(disk, 0, "never written");
    table_store_pass(disk->table, P, 0, 100);
    begin(disk, 1, 0);
    assert_full(disk);
    assert_false(has(disk, 0, "never written"));
}

TEST(test_old_rows_are_dropped, struct disk *disk) {
    fill(disk);
    table_store_touch(disk->table, P, 5000);
    assert_int_equal(table_store_write(disk->table, &failure), 0);
    begin(disk, 1, 5000);
    assert_full(disk);
    begin(disk, 1, 5001);
    assert_empty(disk);
}

TEST(test_rows_of_another_version_are_dropped, struct disk *disk) {
    fill(disk);
    begin(disk, 2, 0);
    assert_empty(disk);
}

TEST(test_a_reset_leaves_nothing, struct disk *disk) {
    fill(disk);
    put(disk, 0, "gathered");
    assert_int_equal(table_store_reset(disk->table, P, NOW, &failure), 0);
    assert_empty(disk);
    begin(disk, 1, 0);
    assert_empty(disk);
    assert_false(has(disk, 0, "gathered"));
    fill(disk);
    assert_full(disk);
}

static int64_t next_of_bare(struct disk *disk, int64_t version, int64_t next) {
    struct table_store_options options = how(disk, version);
    options.bare = true;
    struct table_store *rows = table_store_new(&options);
    assert_int_equal(table_store_open(rows, P, 0, INT64_MAX, &failure), 0);
    int64_t found = table_store_next(rows, P, 1);
    table_store_pass(rows, P, 1, next);
    assert_int_equal(table_store_write(rows, &failure), 0);
    table_store_free(rows);
    return found;
}

TEST(test_bare_rows_may_have_a_version, struct disk *disk) {
    assert_int_equal(store_family_drop(disk->store, "rows-1", &failure), 0);
    assert_int_equal(next_of_bare(disk, 0, 5), -1);
    assert_int_equal(next_of_bare(disk, 0, 6), 5);
    assert_int_equal(next_of_bare(disk, 1, 7), -1);
    assert_int_equal(next_of_bare(disk, 1, 8), 7);
    assert_int_equal(next_of_bare(disk, 2, 9), -1);
    assert_int_equal(next_of_bare(disk, 0, 9), -1);
}

static const char *take(void *context, struct table_store *table, const struct kafka_record *record,
                        struct error *error) {
    return record->key ? NULL : "it needs a key";
}

TEST(test_records_as_they_come, struct disk *disk) {
    struct table_store *rows = table_store_of_topic(disk->store, "topic", PARTITIONS, take, NULL);
    assert_int_equal(table_store_open(rows, P, 0, INT64_MAX, &failure), 0);
    table_store_put(rows, P, 4, "k", 1, "one", 3);
    table_store_put(rows, P, 4, "k", 1, "again", 5); // was taken already
    assert_int_equal(table_store_write(rows, &failure), 0);
    assert_int_equal(table_store_open(rows, P, 0, INT64_MAX, &failure), 0); // these have no age
    assert_int_equal(table_store_next(rows, P, 0), 5);
    assert_int_equal(table_store_get(rows, P, "k", 1, &disk->value, &failure), 1);
    assert_int_equal(disk->value.size, 3);
    table_store_put(rows, P, 5, "k", 1, NULL, 0);
    assert_int_equal(table_store_write(rows, &failure), 0);
    assert_int_equal(table_store_get(rows, P, "k", 1, NULL, &failure), 0);
    table_store_put(rows, P, 6, "k", 1, "", 0);
    assert_int_equal(table_store_reset(rows, P, 0, &failure), 0);
    assert_int_equal(table_store_get(rows, P, "k", 1, NULL, &failure), 0);
    assert_int_equal(table_store_next(rows, P, 0), -1);
    const char *reason = NULL;
    struct kafka_record record = {.partition = P, .offset = 8};
    assert_int_equal(TABLE_STORE_KIND.take(rows, 0, &record, &reason, &failure), 0);
    assert_string_equal(reason, "it needs a key");
    assert_int_equal(table_store_next(rows, P, 0), 9); // it is not read again
    record = (struct kafka_record){
        .partition = P, .offset = 9, .key = (const uint8_t *)"k", .key_size = 1, .value = (const uint8_t *)""};
    assert_int_equal(TABLE_STORE_KIND.take(rows, 0, &record, &reason, &failure), 0);
    assert_int_equal(TABLE_STORE_KIND.write(rows, &failure), 0);
    assert_int_equal(table_store_get(rows, P, "k", 1, NULL, &failure), 1);
    table_store_free(rows);
}
