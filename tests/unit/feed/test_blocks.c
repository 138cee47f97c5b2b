/* Who has a block with whom, on a real store: the marker that says that there is anything to look for, and rows from before there were any. */
#include "base/bytes.h"
#include "feed/blocks.h"
#include "unit/kit/kit.h"

enum { P = 1, PARTITIONS = 2, USER = 7, MOST = 10 };

struct disk {
    struct store *store;
    struct table_store *blocks;
    int64_t offset;
    struct id_list others, scratch;
};

static const char *no_take(void *context, struct table_store *table, const struct kafka_record *record,
                           struct error *error) {
    return NULL;
}

/* The process begins again, with what is on the disk. */
static void begin(struct disk *disk, struct table_store *blocks) {
    table_store_free(disk->blocks);
    disk->blocks = blocks;
    assert_int_equal(table_store_open(disk->blocks, P, 0, 0, &failure), 0);
}

SET_UP() {
    struct disk *disk = kit_zero(sizeof *disk);
    const struct store_options options = {.memory_bytes = 0, .point_lookups = true};
    assert_int_equal(store_open(kit_folder(), &options, &disk->store, &failure), 0);
    begin(disk, blocks_new(disk->store, PARTITIONS, no_take, NULL));
    return disk;
}

TEAR_DOWN(struct disk *disk) {
    table_store_free(disk->blocks);
    store_close(disk->store);
    id_list_free(&disk->others);
    id_list_free(&disk->scratch);
}

static void block(struct disk *disk, int64_t user, int64_t other, bool blocked) {
    blocks_take(disk->blocks, P, disk->offset++, user, other, blocked);
    assert_int_equal(table_store_write(disk->blocks, &failure), 0);
}

static bool marked(struct disk *disk, int64_t user) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    int code = table_store_get(disk->blocks, P, key, sizeof key, NULL, &failure);
    assert_true(code >= 0);
    return code;
}

static bool blocked(struct disk *disk, int64_t user, int64_t other) {
    bool found;
    assert_int_equal(blocks_has(disk->blocks, P, user, other, &found, &failure), 0);
    return found;
}

/* others: rising, up to a negative one. */
static void assert_others(struct disk *disk, int64_t user, const int64_t *others) {
    bool all;
    size_t count = 0;
    assert_int_equal(blocks_of(disk->store, disk->blocks, P, user, MOST, &disk->others, &all, &failure), 0);
    assert_true(all);
    for (; others[count] >= 0; count++) {
        assert_true(count < disk->others.count);
        assert_int_equal(disk->others.items[count], others[count]);
    }
    assert_int_equal(disk->others.count, count);
}
#define OTHERS(disk, user, ...) assert_others(disk, user, (const int64_t[]){__VA_ARGS__, -1})
#define NOBODY(disk, user) assert_others(disk, user, (const int64_t[]){-1})

TEST(test_a_marker_is_nobody, struct disk *disk) {
    block(disk, USER, 9, true);
    block(disk, USER, 0, true);
    block(disk, USER - 1, 3, true);
    block(disk, USER + 1, 4, true);
    OTHERS(disk, USER, 0, 9);
    OTHERS(disk, USER - 1, 3);
    OTHERS(disk, USER + 1, 4);
    NOBODY(disk, USER + 2);
}

TEST(test_a_marker_stays, struct disk *disk) {
    block(disk, USER, 9, false);
    assert_false(marked(disk, USER));
    NOBODY(disk, USER);
    block(disk, USER, 9, true);
    block(disk, USER, 11, true);
    assert_true(marked(disk, USER));
    block(disk, USER, 9, false);
    OTHERS(disk, USER, 11);
    block(disk, USER, 11, false);
    assert_true(marked(disk, USER));
    NOBODY(disk, USER);
    assert_false(blocked(disk, USER, 9) || blocked(disk, USER, 11));
    block(disk, USER, 9, true);
    OTHERS(disk, USER, 9);
}

/* The row alone is not looked for: so a page of somebody without blocks costs no cursor. */
TEST(test_only_a_marker_makes_a_cursor, struct disk *disk) {
    uint8_t key[16];
    bytes_put_be64(key, USER);
    bytes_put_be64(key + 8, 9);
    table_store_put(disk->blocks, P, disk->offset++, key, sizeof key, "", 0);
    assert_int_equal(table_store_write(disk->blocks, &failure), 0);
    assert_true(blocked(disk, USER, 9));
    NOBODY(disk, USER);
    block(disk, USER, 10, true);
    OTHERS(disk, USER, 9, 10);
}

TEST(test_a_passed_record_is_not_taken, struct disk *disk) {
    block(disk, USER, 9, true);
    blocks_take(disk->blocks, P, disk->offset - 1, USER + 1, 9, true);
    blocks_take(disk->blocks, P, disk->offset - 1, USER, 9, false);
    assert_int_equal(table_store_write(disk->blocks, &failure), 0);
    assert_false(marked(disk, USER + 1));
    OTHERS(disk, USER, 9);
    assert_int_equal(table_store_next(disk->blocks, P, 0), disk->offset);
}

TEST(test_those_of_a_list_are_left_out, struct disk *disk) {
    struct id_list ids = {.count = 0};
    id_list_reserve(&ids, 3);
    for (ids.count = 0; ids.count < 3; ids.count++) ids.items[ids.count] = 8 + (int64_t)ids.count;
    block(disk, USER, 9, true);
    assert_int_equal(blocks_leave_out(disk->store, disk->blocks, P, USER + 1, &ids, &disk->scratch, &failure), 0);
    assert_int_equal(ids.count, 3);
    assert_int_equal(blocks_leave_out(disk->store, disk->blocks, P, USER, &ids, &disk->scratch, &failure), 0);
    assert_int_equal(ids.count, 2);
    assert_true(ids.items[0] == 8 && ids.items[1] == 10);
    id_list_free(&ids);
}

/* They had no markers: the topic is read from its beginning again, once. */
TEST(test_rows_without_markers_are_read_anew, struct disk *disk) {
    uint8_t key[16];
    bytes_put_be64(key, USER);
    bytes_put_be64(key + 8, 9);
    assert_int_equal(store_family_drop(disk->store, "blocks-1", &failure), 0);
    begin(disk, table_store_of_topic(disk->store, "blocks", PARTITIONS, no_take, NULL));
    table_store_put(disk->blocks, P, 40, key, sizeof key, "", 0);
    assert_int_equal(table_store_write(disk->blocks, &failure), 0);

    begin(disk, blocks_new(disk->store, PARTITIONS, no_take, NULL));
    assert_int_equal(table_store_next(disk->blocks, P, 0), -1);
    assert_false(blocked(disk, USER, 9));
    block(disk, USER, 9, true);
    begin(disk, blocks_new(disk->store, PARTITIONS, no_take, NULL));
    assert_int_equal(table_store_next(disk->blocks, P, 0), 1);
    OTHERS(disk, USER, 9);
}
