/* History files: when one is full, which hour it belongs to, and that a damaged one is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "event/container.h"
#include "history_world.h"

enum { HOUR = 492541, PARTITION = 4 };
static const int64_t HOUR_MS = HOUR * (int64_t)HISTORY_HOUR_MS;
static const struct segment_limits NEVER = {.rows = INT64_MAX, .bytes = INT64_MAX, .age_ms = INT64_MAX / 1000};

static struct history_segment *open_at(const char *folder, const struct archive_file *before, int64_t first,
                                       int64_t received_ms) {
    struct history_segment *segment;
    struct history_row row = history_row_at(PARTITION, first, received_ms);
    assert_int_equal(segment_open(folder, before, first, &row, &segment, NULL), 0);
    return segment;
}

static void append(struct history_segment *segment, int64_t offset, int64_t received_ms) {
    struct history_row row = history_row_at(PARTITION, offset, received_ms);
    assert_int_equal(segment_append(segment, &row, NULL), 0);
}

static void test_full_by_rows(void **state) {
    struct segment_limits limits = NEVER;
    limits.rows = 3;
    struct history_segment *segment = open_at(*state, NULL, 0, HOUR_MS);
    for (int64_t i = 0; i < 3; i++) {
        assert_false(segment_full(segment, &limits));
        append(segment, i, HOUR_MS);
    }
    assert_true(segment_full(segment, &limits));
    assert_false(segment_full(segment, &NEVER));
    segment_drop(segment);
}

static void test_full_by_age(void **state) {
    struct segment_limits limits = NEVER;
    struct history_segment *segment = open_at(*state, NULL, 0, HOUR_MS);
    limits.age_ms = 60000;
    assert_false(segment_full(segment, &limits));
    limits.age_ms = 1;
    usleep(2000);
    assert_true(segment_full(segment, &limits));
    segment_drop(segment);
}

static void test_full_by_bytes(void **state) {
    struct segment_limits limits = NEVER;
    limits.bytes = 65536;
    struct history_segment *segment = open_at(*state, NULL, 0, HOUR_MS);
    int64_t rows = 0;
    for (; !segment_full(segment, &limits) && rows < 100000; rows++) append(segment, rows, HOUR_MS + rows % 3600000);
    assert_true(rows > 1000 && rows < 100000);
    struct segment_published published;
    assert_int_equal(segment_publish(segment, &published, NULL), 0);
    assert_true(published.bytes >= 65536 && published.bytes < 4 * 65536);
    assert_int_equal(published.rows, rows);
}

static void test_hours(void **state) {
    struct segment_published published;
    struct history_segment *segment = open_at(*state, NULL, 0, HOUR_MS + 3599999);
    assert_true(segment_takes(segment, HOUR_MS + 3599999));
    assert_true(segment_takes(segment, HOUR_MS - 1)); // a broker's clock stepped back: the chain's hours do not fall
    assert_false(segment_takes(segment, HOUR_MS + 3600000));
    append(segment, 2, HOUR_MS + 3599999);
    assert_int_equal(segment_oldest(segment), HOUR_MS + 3599999);
    assert_int_equal(segment_publish(segment, &published, NULL), 0);
    assert_int_equal(published.file.hour, HOUR);
    assert_int_equal(published.file.first, 0);
    assert_int_equal(published.last, 2);

    const struct archive_file before = {.hour = published.file.hour, .first = published.file.first};
    segment = open_at(*state, &before, 3, HOUR_MS - 1);
    append(segment, 3, HOUR_MS - 1);
    assert_int_equal(segment_publish(segment, &published, NULL), 0);
    assert_int_equal(published.file.hour, HOUR);

    // A file covers from where the one before ends, and lies in the hour of its first row.
    segment = open_at(*state, &published.file, 4, HOUR_MS + 2 * 3600000);
    append(segment, 100, HOUR_MS + 2 * 3600000);
    assert_int_equal(segment_publish(segment, &published, NULL), 0);
    assert_int_equal(published.file.hour, HOUR + 2);
    assert_int_equal(published.file.first, 4);
}

static void test_dropped_leaves_nothing(void **state) {
    struct history_segment *segment = open_at(*state, NULL, 0, HOUR_MS);
    append(segment, 0, HOUR_MS);
    assert_int_equal(history_count_files(*state, ""), 1);
    segment_drop(segment);
    segment_drop(NULL);
    assert_int_equal(history_count_files(*state, ""), 0);
}

/* The address sanitizer's, if there is one. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/* Whether a disk that is full shows at once or at the end: nothing is published, nothing is left. */
static void test_a_full_disk_publishes_nothing(void **state) {
    static const int64_t ROWS[] = {10, 50000};
    for (int i = 0; i < 2; i++) {
        struct rlimit before, small;
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        signal(SIGXFSZ, SIG_IGN);
        small = (struct rlimit){.rlim_cur = 1, .rlim_max = before.rlim_max};
        struct history_segment *segment = open_at(*state, NULL, 0, HOUR_MS); // writes the header
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        int code = 0;
        struct error error = {.text = ""};
        for (int64_t offset = 0; offset < ROWS[i] && code == 0; offset++) {
            struct history_row row = history_row_at(PARTITION, offset * 1000003, HOUR_MS + offset % 3600000);
            code = segment_append(segment, &row, &error);
        }
        assert_int_equal(code, i == 0 ? 0 : -EFBIG);
        struct segment_published published;
        if (code == 0)
            assert_int_equal(segment_publish(segment, &published, &error), -EFBIG);
        else
            segment_drop(segment);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_non_null(strstr(error.text, "large"));
        assert_int_equal(history_count_files(*state, ""), 0);
    }
}

static int read_all(const char *folder, struct archive_file file, int64_t *rows, struct error *error) {
    struct segment_reader *reader;
    struct history_row row;
    int code = segment_reader_open(folder, PARTITION, file, &reader, error);
    if (code) return code;
    for (*rows = 0; (code = segment_reader_next(reader, &row, error)) > 0; ++*rows)
        assert_int_equal(segment_reader_last(reader), row.offset);
    segment_reader_free(reader);
    return code;
}

static void test_read_back(void **state) {
    struct segment_published published = history_publish(*state, PARTITION, NULL, 0, 4999, HOUR);
    int64_t rows;
    assert_int_equal(read_all(*state, published.file, &rows, NULL), 0);
    assert_int_equal(rows, 5000);
    assert_int_equal(read_all(*state, (struct archive_file){HOUR, 1}, &rows, NULL), -ENOENT);
}

/* Cut anywhere, a file is either refused or ends a block early, which the next file's name gives away. */
static void test_a_truncated_file(void **state) {
    struct segment_published published = history_publish(*state, PARTITION, NULL, 0, 9999, HOUR);
    char *path = archive_path(*state, PARTITION, published.file);
    struct error error;
    int refused = 0;
    int64_t rows;
    if (__lsan_disable) __lsan_disable(); // avro-c leaks when it meets a file that ends in its header
    for (int64_t size = published.bytes - 1; size >= 0; size -= size > 3000 ? 1009 : 61) {
        assert_int_equal(truncate(path, size), 0);
        int code = read_all(*state, published.file, &rows, &error);
        if (code) {
            assert_int_equal(code, -EBADMSG);
            assert_non_null(strstr(error.text, "/00004-"));
            refused++;
        } else
            assert_true(rows > 0 && rows < 10000);
    }
    if (__lsan_enable) __lsan_enable();
    assert_true(refused > 50);
    free(path);
}

/* Rows as given, under a file's name. */
static void write_file(const char *path, const struct history_row *rows, size_t count) {
    struct container_writer *writer;
    unlink(path);
    assert_int_equal(container_writer_open(path, &writer, NULL), 0);
    for (size_t i = 0; i < count; i++) assert_int_equal(container_writer_append(writer, &rows[i], NULL), 0);
    assert_int_equal(container_writer_close(writer, NULL), 0);
}

static void test_a_file_that_is_not_what_it_says(void **state) {
    const struct archive_file file = {.hour = HOUR, .first = 100};
    struct history_row rows[] = {history_row_at(PARTITION, 100, HOUR_MS), history_row_at(PARTITION, 105, HOUR_MS),
                                 history_row_at(PARTITION, 106, HOUR_MS)};
    int64_t count;
    assert_int_equal(archive_create_hour(*state, HOUR, NULL), 0);
    char *path = archive_path(*state, PARTITION, file);
    write_file(path, rows, 3);
    assert_int_equal(read_all(*state, file, &count, NULL), 0);
    assert_int_equal(count, 3);
    write_file(path, rows, 0);
    assert_int_equal(read_all(*state, file, &count, NULL), -EBADMSG);
    rows[1].partition++;
    write_file(path, rows, 3);
    assert_int_equal(read_all(*state, file, &count, NULL), -EBADMSG);
    rows[1] = history_row_at(PARTITION, 100, HOUR_MS); // twice
    write_file(path, rows, 3);
    assert_int_equal(read_all(*state, file, &count, NULL), -EBADMSG);
    rows[0] = history_row_at(PARTITION, 99, HOUR_MS); // before its first
    write_file(path, rows, 1);
    assert_int_equal(read_all(*state, file, &count, NULL), -EBADMSG);
    free(path);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, history_make_folder, history_remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_full_by_rows),
        WITH_FOLDER(test_full_by_age),
        WITH_FOLDER(test_full_by_bytes),
        WITH_FOLDER(test_hours),
        WITH_FOLDER(test_dropped_leaves_nothing),
        WITH_FOLDER(test_a_full_disk_publishes_nothing),
        WITH_FOLDER(test_read_back),
        WITH_FOLDER(test_a_truncated_file),
        WITH_FOLDER(test_a_file_that_is_not_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
