/* A copy on disk: kept over restarts, begun anew when it cannot be trusted, and never in a state that a failing disk left half
 * done. */
#include <signal.h>
#include <sys/resource.h>

#include "base/bytes.h"
#include "copies/disk.h"
#include "unit/kit/kit.h"
#include "unit/lib/store/small_disk.h"
#include "store/store.h"

enum { PARTITIONS = 3, VALUE = 4000, ROOM_MAX = 1600 };

static struct copy_disk *copy_at(const char *folder) {
    struct copy_disk *copy = NULL;
    if (copy_disk_open(folder, "names", PARTITIONS, &copy, &failure)) fail_msg("%s", failure.text);
    return copy;
}

static void put(struct copy_disk *copy, uint32_t key, const char *value) {
    uint8_t bytes[4];
    bytes_put_be32(bytes, key);
    copy_disk_put(copy, bytes, sizeof bytes, value, value ? strlen(value) : 0);
}

static void assert_value(struct copy_disk *copy, uint32_t key, const char *expected) {
    FREED_BUFFER value = {.size = 0};
    uint8_t bytes[4];
    bytes_put_be32(bytes, key);
    assert_int_equal(copy_disk_get(copy, bytes, sizeof bytes, &value, NULL), expected ? 1 : 0);
    if (expected) {
        assert_int_equal(value.size, strlen(expected));
        assert_memory_equal(value.data, expected, value.size);
    }
}

SET_UP_ONCE() { return small_disk_new(); }

TEST(test_values_and_offsets_are_kept_together) {
    char *folder = kit_folder();
    struct copy_disk *copy = copy_at(folder), *second = NULL;
    assert_int_equal(copy_disk_next(copy, 1), -1);
    put(copy, 1, "one");
    put(copy, 2, "two");
    copy_disk_reached(copy, 1, 17);
    assert_int_equal(copy_disk_write(copy, NULL), 0);
    put(copy, 2, NULL);
    copy_disk_reached(copy, 1, 18);
    assert_int_equal(copy_disk_write(copy, NULL), 0);
    put(copy, 3, "lost: not written");
    copy_disk_reached(copy, 1, 19);
    assert_int_equal(copy_disk_open(folder, "names", PARTITIONS, &second, NULL), -EBUSY);
    copy_disk_close(copy);

    copy = copy_at(folder);
    assert_int_equal(copy_disk_next(copy, 0), -1);
    assert_int_equal(copy_disk_next(copy, 1), 18);
    assert_value(copy, 1, "one");
    assert_value(copy, 2, NULL);
    assert_value(copy, 3, NULL);
    assert_int_equal(copy_disk_forget(copy, NULL), 0);
    assert_value(copy, 1, NULL);
    assert_int_equal(copy_disk_next(copy, 1), -1);
    put(copy, 1, "anew");
    copy_disk_reached(copy, 1, 1);
    assert_int_equal(copy_disk_write(copy, NULL), 0);
    copy_disk_close(copy);

    // Another number of partitions: keys lie elsewhere.
    assert_int_equal(copy_disk_open(folder, "names", PARTITIONS + 1, &copy, NULL), 0);
    assert_value(copy, 1, NULL);
    assert_int_equal(copy_disk_next(copy, 1), -1);
    copy_disk_close(copy);
}

/* Writes until the disk is full; the offset that was written last. */
static int64_t write_until_full(struct copy_disk *copy) {
    char value[VALUE + 1];
    memset(value, 'x', VALUE);
    value[VALUE] = '\0';
    for (int64_t offset = 1;; offset++) {
        put(copy, (uint32_t)offset, value);
        copy_disk_reached(copy, 0, offset);
        int code = copy_disk_write(copy, &failure);
        if (!code) continue;
        assert_int_equal(code, -ENOSPC);
        return offset - 1;
    }
}

TEST(test_a_full_disk_and_room_again, const struct small_disk *disk) {
    struct copy_disk *copy = copy_at(disk->folder);
    small_disk_fill(disk, 100000);
    int64_t written = write_until_full(copy);
    assert_true(written > 0);
    // It is closed: nothing is found, and nothing crashes.
    struct buffer value = {.data = NULL, .size = 0, .capacity = 0};
    assert_int_equal(copy_disk_get(copy, "key1", 4, &value, NULL), -EIO);
    assert_int_equal(copy_disk_write(copy, NULL), -EIO);
    assert_int_equal(copy_disk_forget(copy, NULL), -EIO);
    assert_int_equal(copy_disk_current(copy, NULL), -EIO);
    small_disk_make_room(disk);
    assert_int_equal(copy_disk_reopen(copy, NULL), 0);
    assert_int_equal(copy_disk_next(copy, 0), written);
    put(copy, 1, "room");
    assert_int_equal(copy_disk_write(copy, NULL), 0);
    assert_value(copy, 1, "room");
    copy_disk_close(copy);
}

/* A file that would grow beyond it cannot be written. */
static void limit_files(rlim_t size) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size < limit.rlim_max ? size : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Dropping a family and making it again may fail in between: what was freed must not be used, and what is left is forgotten. */
TEST(test_forgetting_may_fail, const struct small_disk *disk) {
    FREED_BUFFER value = {.size = 0};
    int failed = 0, halfway = 0;
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t room = 0; room < ROOM_MAX; room += 16) {
        struct copy_disk *copy = copy_at(disk->folder);
        put(copy, 1, "value");
        copy_disk_reached(copy, 0, 5);
        assert_int_equal(copy_disk_write(copy, NULL), 0);
        limit_files(room);
        int code = copy_disk_forget(copy, NULL);
        if (code) {
            assert_int_equal(copy_disk_get(copy, "key1", 4, &value, NULL), -EIO);
            put(copy, 2, "nowhere");
            assert_int_equal(copy_disk_write(copy, NULL), -EIO);
        }
        limit_files(RLIM_INFINITY);
        assert_int_equal(copy_disk_reopen(copy, NULL), 0);
        // Either nothing is forgotten yet, or everything is: an offset never stands without its values.
        if (copy_disk_next(copy, 0) >= 0) assert_value(copy, 1, "value");
        if (!code) assert_int_equal(copy_disk_next(copy, 0), -1);
        failed += code != 0;
        halfway += code && copy_disk_next(copy, 0) < 0;
        assert_int_equal(copy_disk_forget(copy, NULL), 0);
        assert_value(copy, 1, NULL);
        copy_disk_close(copy);
    }
    print_message("forgetting failed %d times, %d of them halfway\n", failed, halfway);
    assert_true(halfway > 0);
}
