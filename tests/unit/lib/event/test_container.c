/* History files: what is written comes back, and what cannot be written or read says so. */
#include <avro.h>

#include "event/codec.h"
#include "event/container.h"
#include "json/details.h"
#include "unit/kit/kit.h"

/* A file in memory. */
struct memory_file {
    struct buffer bytes;
    size_t at;   /* of the reader */
    size_t room; /* writing more than this fails */
};

static int memory_write(void *context, const void *bytes, size_t size, struct error *error) {
    struct memory_file *file = context;
    if (file->bytes.size + size > file->room) return error_set(error, -ENOSPC, "no room");
    buffer_append(&file->bytes, bytes, size);
    return 0;
}

/* Odd pieces, so that nothing is where a read ends. */
static ssize_t memory_read(void *context, void *bytes, size_t size, struct error *error) {
    struct memory_file *file = context;
    size_t count = file->bytes.size - file->at;
    if (count > size) count = size;
    if (count > 1009) count = 1009;
    if (count) memcpy(bytes, file->bytes.data + file->at, count);
    file->at += count;
    return (ssize_t)count;
}

SET_UP() {
    static struct memory_file file;
    file = (struct memory_file){.bytes = {.data = NULL}, .room = SIZE_MAX};
    return &file;
}

TEAR_DOWN(struct memory_file *file) { buffer_free(&file->bytes); }

static struct history_row row_of(int64_t i) {
    return (struct history_row){.user = i * i,
                                .lat = i % 2 ? INT32_MAX : INT32_MIN,
                                .lng = (int32_t)i,
                                .time = 1700000000000 + i,
                                .accuracy = -1,
                                .received = INT64_MAX - i,
                                .partition = (int32_t)(i % 7),
                                .offset = i,
                                .battery = (int32_t)(i % 1002) - 1,
                                .activity = -1};
}

static void assert_row(const struct history_row *row, int64_t i) {
    const struct history_row expected = row_of(i);
    assert_true(row->user == expected.user && row->lat == expected.lat && row->lng == expected.lng);
    assert_true(row->time == expected.time && row->accuracy == expected.accuracy);
    assert_true(row->received == expected.received && row->partition == expected.partition);
    assert_true(row->offset == expected.offset);
    assert_true(row->battery == expected.battery && row->activity == expected.activity);
}

/* 0, or the first failure. */
static int write_rows(struct memory_file *file, int64_t count, int64_t end, struct error *error) {
    buffer_clear(&file->bytes);
    struct container_writer *writer = container_writer_new(
        "rows.avro", end, true, &(struct container_output){.context = file, .write = memory_write});
    int code = 0;
    for (int64_t i = 0; i < count && code == 0; i++) {
        const struct history_row row = row_of(i);
        code = container_writer_append(writer, &row, error);
    }
    if (code == 0) code = container_writer_finish(writer, error);
    container_writer_free(writer);
    return code;
}

static int open_file(struct memory_file *file, struct container_reader **reader, struct error *error) {
    file->at = 0;
    return container_reader_new("rows.avro", &(struct container_input){.context = file, .read = memory_read}, reader,
                                error);
}

static void read_rows(struct memory_file *file, int64_t count, int64_t end) {
    struct container_reader *reader;
    struct history_row row;
    assert_int_equal(open_file(file, &reader, NULL), 0);
    assert_int_equal(container_reader_end(reader), end);
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(container_reader_next(reader, &row, NULL), 1);
        assert_row(&row, i);
    }
    assert_int_equal(container_reader_next(reader, &row, NULL), 0);
    assert_int_equal(container_reader_next(reader, &row, NULL), 0);
    container_reader_free(reader);
}

/* Those who do not know details read files that have none. */
TEST(a_file_without_details_is_version_1) {
    struct memory_file file = {.bytes = {.data = NULL}, .room = SIZE_MAX};
    struct error error = {.text = ""};
    struct container_reader *reader;
    struct history_row read, row = {.user = 7, .offset = 9, .accuracy = 12, DETAILS_NONE};
    struct container_writer *writer = container_writer_new(
        "rows.avro", 10, false, &(struct container_output){.context = &file, .write = memory_write});
    assert_int_equal(container_writer_append(writer, &row, &error), 0);
    row.battery = 5;
    assert_int_equal(container_writer_append(writer, &row, &error), -EINVAL);
    assert_string_equal(error.text, "rows.avro: a row says more than the file can");
    assert_int_equal(container_writer_finish(writer, &error), 0);
    container_writer_free(writer);
    assert_null(memmem(file.bytes.data, file.bytes.size, "battery", strlen("battery")));
    assert_int_equal(open_file(&file, &reader, &error), 0);
    assert_false(container_reader_detailed(reader));
    assert_int_equal(container_reader_next(reader, &read, &error), 1);
    assert_true(read.user == 7 && read.offset == 9 && read.accuracy == 12 && read.battery == -1 && read.activity == -1);
    assert_int_equal(container_reader_next(reader, &read, &error), 0);
    container_reader_free(reader);
    buffer_free(&file.bytes);
}

TEST(test_rows_come_back, struct memory_file *file) {
    static const int64_t counts[] = {0, 1, 2, 50000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        int64_t end = i % 2 ? -1 : counts[i] * 1000003;
        assert_int_equal(write_rows(file, counts[i], end, NULL), 0);
        read_rows(file, counts[i], end);
    }
    container_writer_free(NULL);
    container_reader_free(NULL);
}

TEST(test_the_file_holds_the_whole_schema, struct memory_file *file) {
    const char *schema = event_schema_find(HISTORY_ROW_SCHEMA_ID)->json;
    assert_int_equal(write_rows(file, 1, 5, NULL), 0);
    assert_memory_equal(file->bytes.data, "Obj\1", 4);
    assert_non_null(memmem(file->bytes.data, file->bytes.size, schema, strlen(schema)));
    assert_non_null(memmem(file->bytes.data, file->bytes.size, "timestamp-millis", strlen("timestamp-millis")));
    assert_non_null(memmem(file->bytes.data, file->bytes.size, "snappy", strlen("snappy")));
    assert_non_null(memmem(file->bytes.data, file->bytes.size, "starling.end", strlen("starling.end")));
}

TEST(test_a_write_that_fails_is_told, struct memory_file *file) {
    assert_int_equal(write_rows(file, 50000, 7, NULL), 0);
    const size_t whole = file->bytes.size, rooms[] = {0, 10, whole / 2, whole - 1};
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        file->room = rooms[i];
        assert_fails_saying(write_rows(file, 50000, 7, &failure), -ENOSPC, "rows.avro: no room");
    }
}

/* Reads a file that may be damaged. */
static int read_all(struct memory_file *file, struct error *error) {
    struct container_reader *reader;
    struct history_row row;
    int code = open_file(file, &reader, error);
    if (code) return code;
    while ((code = container_reader_next(reader, &row, error)) == 1) {}
    container_reader_free(reader);
    return code;
}

static void check_refused(struct memory_file *file) {
    struct error error;
    assert_int_equal(read_all(file, &error), -EBADMSG);
    assert_memory_equal(error.text, "rows.avro: ", 11);
}

TEST(test_damaged_files_are_refused, struct memory_file *file) {
    assert_int_equal(write_rows(file, 100, 100, NULL), 0);
    const size_t size = file->bytes.size, cuts[] = {size - 100 /* within the block */, size - 1, 100, 3, 0};
    assert_int_equal(read_all(file, NULL), 0);
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        file->bytes.size = cuts[i];
        check_refused(file);
    }
    file->bytes.size = size;
    file->bytes.data[size - 100] ^= 1; // a bit: the checksum of the block tells
    check_refused(file);
    file->bytes.data[size - 100] ^= 1;
    file->bytes.data[size - 1] ^= 1; // the marker
    check_refused(file);
    file->bytes.data[size - 1] ^= 1;
    assert_int_equal(read_all(file, NULL), 0);
    // Any byte at all: refused, or a row's bytes of another value behind an intact checksum, which cannot be.
    for (size_t i = 0; i < size; i++) {
        file->bytes.data[i] ^= 0x55;
        read_all(file, NULL); // under the sanitizers
        file->bytes.data[i] ^= 0x55;
    }
}

TEST(test_files_of_other_records_are_refused, struct memory_file *file) {
    char path[] = "/tmp/starling-container-XXXXXX";
    const char *json = event_schema_find(LOCATION_SCHEMA_ID)->json;
    avro_schema_t schema;
    avro_file_writer_t writer;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(avro_schema_from_json_length(json, strlen(json), &schema), 0);
    assert_int_equal(avro_file_writer_create(path, schema, &writer), 0);
    assert_int_equal(avro_file_writer_close(writer), 0);
    avro_schema_decref(schema);
    uint8_t *bytes = buffer_reserve(&file->bytes, 65536);
    ssize_t size = pread(fd, bytes, 65536, 0);
    assert_true(size > 0);
    buffer_commit(&file->bytes, (size_t)size);
    close(fd);
    unlink(path);
    assert_fails(read_all(file, &failure), -EBADMSG, "not a file of HistoryRow");
}
