/* History files: when one is full, which hour it belongs to, and that a damaged one is noticed. */
#include <signal.h>
#include <sys/resource.h>

#include "unit/history-sink/world.h"
#include "unit/kit/kit.h"

enum { HOUR = 492541, PARTITION = 4 };
static const int64_t HOUR_MS = HOUR * (int64_t)HISTORY_HOUR_MS;
static const struct segment_limits NEVER = {.rows = INT64_MAX, .bytes = INT64_MAX, .age_ms = INT64_MAX / 1000};

static struct history_segment *open_at(const struct chain_end *before, int64_t received_ms) {
    const struct chain_end none = {.some = false};
    struct history_row row = history_row_at(PARTITION, before ? before->end : 0, received_ms);
    return segment_new(before ? before : &none, &row);
}

static void append(struct history_segment *segment, int64_t offset, int64_t received_ms) {
    struct history_row row = history_row_at(PARTITION, offset, received_ms);
    segment_append(segment, &row);
}

static int publish(const char *folder, struct history_segment *segment, struct segment_published *published,
                   struct error *error) {
    struct storage *storage = history_storage(folder);
    int code = segment_publish(segment, storage, published, error);
    storage_close(storage);
    return code;
}

SET_UP() { return kit_folder(); }

TEST(test_full_by_rows) {
    struct segment_limits limits = NEVER;
    limits.rows = 3;
    struct history_segment *segment = open_at(NULL, HOUR_MS);
    for (int64_t i = 0; i < 3; i++) {
        assert_false(segment_full(segment, &limits));
        append(segment, i, HOUR_MS);
    }
    assert_true(segment_full(segment, &limits));
    assert_false(segment_full(segment, &NEVER));
    segment_drop(segment);
}

TEST(test_full_by_age) {
    struct segment_limits limits = NEVER;
    struct history_segment *segment = open_at(NULL, HOUR_MS);
    limits.age_ms = 60000;
    assert_false(segment_full(segment, &limits));
    limits.age_ms = 1;
    usleep(2000);
    assert_true(segment_full(segment, &limits));
    segment_drop(segment);
}

TEST(test_full_by_bytes, const char *folder) {
    struct segment_limits limits = NEVER;
    limits.bytes = 65536;
    struct history_segment *segment = open_at(NULL, HOUR_MS);
    int64_t rows = 0;
    for (; !segment_full(segment, &limits) && rows < 100000; rows++) append(segment, rows, HOUR_MS + rows % 3600000);
    assert_true(rows > 1000 && rows < 100000);
    struct segment_published published;
    assert_int_equal(publish(folder, segment, &published, NULL), 0);
    assert_true(published.bytes >= 65536 / 2 && published.bytes < 2 * 65536); // what was expected, about
    assert_int_equal(published.rows, rows);
}

TEST(test_hours, const char *folder) {
    struct segment_published published;
    struct history_segment *segment = open_at(NULL, HOUR_MS + 3599999);
    assert_true(segment_takes(segment, HOUR_MS + 3599999));
    assert_true(segment_takes(segment, HOUR_MS - 1)); // a broker's clock stepped back: the chain's hours do not fall
    assert_false(segment_takes(segment, HOUR_MS + 3600000));
    append(segment, 2, HOUR_MS + 3599999);
    assert_int_equal(segment_oldest(segment), HOUR_MS + 3599999);
    assert_int_equal(publish(folder, segment, &published, NULL), 0);
    assert_int_equal(published.chain.file.hour, HOUR);
    assert_int_equal(published.chain.file.first, 0);
    assert_int_equal(published.chain.end, 3);

    const struct chain_end before = published.chain;
    segment = open_at(&before, HOUR_MS - 1);
    append(segment, 3, HOUR_MS - 1);
    assert_int_equal(publish(folder, segment, &published, NULL), 0);
    assert_int_equal(published.chain.file.hour, HOUR);

    // A file covers from where the one before ends, and lies in the hour of its first row.
    segment = open_at(&published.chain, HOUR_MS + 2 * 3600000);
    append(segment, 100, HOUR_MS + 2 * 3600000);
    assert_int_equal(publish(folder, segment, &published, NULL), 0);
    assert_int_equal(published.chain.file.hour, HOUR + 2);
    assert_int_equal(published.chain.file.first, 4);
}

TEST(test_a_closing_file, const char *folder) {
    struct segment_published published = history_publish(folder, PARTITION, NULL, 9, HOUR);
    struct history_segment *segment = segment_closing(PARTITION, &published.chain);
    assert_int_equal(segment_rows(segment), 0);
    assert_int_equal(publish(folder, segment, &published, NULL), 0);
    assert_int_equal(published.rows, 0);
    assert_true(chain_closed(&published.chain));
    struct storage *storage = history_storage(folder);
    int64_t end;
    assert_int_equal(segment_measure(storage, PARTITION, published.chain.file, &end, NULL), 0);
    assert_int_equal(end, 10);
    storage_close(storage);
    segment = open_at(&published.chain, HOUR_MS);
    assert_true(segment_takes(segment, HOUR_MS + 2 * 3600000 - 1)); // its hour is the next one
    segment_drop(segment);
    segment_drop(NULL);
}

TEST(test_a_full_disk_publishes_nothing, const char *folder) {
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    small = (struct rlimit){.rlim_cur = 200, .rlim_max = before.rlim_max};
    for (int64_t rows = 10; rows <= 50000; rows += 49990) { // at the end, or on the way
        struct history_segment *segment = open_at(NULL, HOUR_MS);
        struct error error = {.text = ""};
        for (int64_t offset = 0; offset < rows; offset++) append(segment, offset * 1000003, HOUR_MS + offset % 3600000);
        struct segment_published published;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        int code = publish(folder, segment, &published, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(code, -EFBIG);
        assert_non_null(strstr(error.text, "large"));
        assert_int_equal(history_count_files(folder, ""), 0);
    }
}

static int read_all(const char *folder, struct archive_file file, int64_t *rows, struct error *error) {
    struct segment_reader *reader;
    struct history_row row, before = {.user = -1};
    struct storage *storage = history_storage(folder);
    int code = segment_reader_open(storage, PARTITION, file, &reader, error);
    if (code == 0) {
        bool sorted = segment_reader_sorted(reader);
        for (*rows = 0; (code = segment_reader_next(reader, &row, error)) > 0; ++*rows) {
            assert_true(!sorted || segment_row_order(&before, &row) < 0);
            before = row;
        }
        segment_reader_free(reader);
    }
    storage_close(storage);
    return code;
}

TEST(test_read_back, const char *folder) {
    struct segment_published published = history_publish(folder, PARTITION, NULL, 4999, HOUR);
    int64_t rows;
    assert_int_equal(read_all(folder, published.chain.file, &rows, NULL), 0);
    assert_int_equal(rows, 5000);
    assert_int_equal(read_all(folder, (struct archive_file){.hour = HOUR, .first = 1}, &rows, NULL), -ENOENT);
}

/* Cut anywhere, a file is either refused or ends a block early. */
TEST(test_a_truncated_file, const char *folder) {
    struct segment_published published = history_publish(folder, PARTITION, NULL, 9999, HOUR);
    FREED char *name = archive_path(PARTITION, published.chain.file), *path = mem_format("%s/%s", folder, name);
    struct error error;
    int refused = 0;
    int64_t rows;
    for (int64_t size = published.bytes - 1; size >= 0; size -= size > 3000 ? 1009 : 61) {
        assert_int_equal(truncate(path, size), 0);
        int code = read_all(folder, published.chain.file, &rows, &error);
        if (code) {
            assert_int_equal(code, -EBADMSG);
            assert_non_null(strstr(error.text, "/00004-"));
            refused++;
        } else
            assert_true(rows < 10000);
    }
    assert_true(refused > 50);
}

/* Rows as given, under a file's name; end -1: as version 0.1 did. */
static void write_file(struct storage *storage, const char *path, int64_t end, const struct history_row *rows,
                       size_t count) {
    struct segment_writer *writer;
    struct storage_writer *file;
    assert_int_equal(segment_writer_open(storage, path, end, true, &writer, NULL), 0);
    for (size_t i = 0; i < count; i++) assert_int_equal(segment_writer_append(writer, &rows[i], NULL), 0);
    assert_int_equal(segment_writer_finish(writer, &file, NULL), 0);
    assert_int_equal(storage_replace(file, NULL), 0);
}

TEST(test_a_file_that_is_not_what_it_says, const char *folder) {
    const struct archive_file file = {.hour = HOUR, .first = 100}, merged = {.hour = HOUR, .first = 100, .end = 107};
    struct history_row rows[] = {history_row_at(PARTITION, 100, HOUR_MS), history_row_at(PARTITION, 105, HOUR_MS),
                                 history_row_at(PARTITION, 106, HOUR_MS)};
    struct storage *storage = history_storage(folder);
    int64_t count;
    FREED char *path = archive_path(PARTITION, file), *merged_path = archive_path(PARTITION, merged);
    write_file(storage, path, -1, rows, 3);
    assert_int_equal(read_all(folder, file, &count, NULL), 0);
    assert_int_equal(count, 3);
    int64_t end;
    assert_int_equal(segment_measure(storage, PARTITION, file, &end, NULL), 0);
    assert_int_equal(end, 107);
    write_file(storage, path, 110, rows, 3);
    assert_int_equal(segment_measure(storage, PARTITION, file, &end, NULL), 0);
    assert_int_equal(end, 110);
    write_file(storage, merged_path, 107, rows, 3);
    assert_int_equal(read_all(folder, merged, &count, NULL), 0);

    write_file(storage, merged_path, 108, rows, 3); // not what its name says
    assert_int_equal(read_all(folder, merged, &count, NULL), -EBADMSG);
    write_file(storage, path, 106, rows, 3); // a row behind its end
    assert_int_equal(read_all(folder, file, &count, NULL), -EBADMSG);
    write_file(storage, path, 99, rows, 0); // it ends before it begins
    assert_int_equal(read_all(folder, file, &count, NULL), -EBADMSG);
    write_file(storage, path, -1, rows, 0);
    assert_int_equal(read_all(folder, file, &count, NULL), -EBADMSG);
    rows[1].partition++;
    write_file(storage, path, 110, rows, 3);
    assert_int_equal(read_all(folder, file, &count, NULL), -EBADMSG);
    rows[1] = history_row_at(PARTITION, 100, HOUR_MS); // twice
    write_file(storage, path, -1, rows, 3);
    assert_int_equal(read_all(folder, file, &count, NULL), -EBADMSG);
    rows[0] = history_row_at(PARTITION, 99, HOUR_MS); // before its first
    write_file(storage, path, 110, rows, 1);
    assert_int_equal(read_all(folder, file, &count, NULL), -EBADMSG);
    storage_close(storage);
}
