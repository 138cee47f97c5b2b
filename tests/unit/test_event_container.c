/* History files: what is written comes back, and what cannot be written or read says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <avro.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/codec.h"
#include "event/container.h"

/* The address sanitizer's, if there is one. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

struct place {
    char folder[64];
    char path[128];
};

static int make_place(void **state) {
    static struct place place;
    snprintf(place.folder, sizeof place.folder, "/tmp/starling-container-XXXXXX");
    if (!mkdtemp(place.folder)) return -1;
    snprintf(place.path, sizeof place.path, "%s/rows.avro", place.folder);
    *state = &place;
    return 0;
}

static int remove_place(void **state) {
    struct place *place = *state;
    unlink(place->path);
    return rmdir(place->folder);
}

static struct history_row row_of(int64_t i) {
    return (struct history_row){.user = i * i,
                                .lat = i % 2 ? INT32_MAX : INT32_MIN,
                                .lng = (int32_t)i,
                                .time = 1700000000000 + i,
                                .accuracy = -1,
                                .received = INT64_MAX - i,
                                .partition = (int32_t)(i % 7),
                                .offset = i};
}

static void assert_row(const struct history_row *row, int64_t i) {
    const struct history_row expected = row_of(i);
    assert_true(row->user == expected.user && row->lat == expected.lat && row->lng == expected.lng);
    assert_true(row->time == expected.time && row->accuracy == expected.accuracy);
    assert_true(row->received == expected.received && row->partition == expected.partition);
    assert_true(row->offset == expected.offset);
}

static void write_rows(const char *path, int64_t count) {
    struct container_writer *writer;
    assert_int_equal(container_writer_open(path, &writer, NULL), 0);
    for (int64_t i = 0; i < count; i++) {
        const struct history_row row = row_of(i);
        assert_int_equal(container_writer_append(writer, &row, NULL), 0);
    }
    assert_int_equal(container_writer_close(writer, NULL), 0);
}

static void read_rows(const char *path, int64_t count) {
    struct container_reader *reader;
    struct history_row row;
    assert_int_equal(container_reader_open(path, &reader, NULL), 0);
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(container_reader_next(reader, &row, NULL), 1);
        assert_row(&row, i);
    }
    assert_int_equal(container_reader_next(reader, &row, NULL), 0);
    assert_int_equal(container_reader_next(reader, &row, NULL), 0);
    container_reader_free(reader);
}

static void test_rows_come_back(void **state) {
    static const int64_t counts[] = {0, 1, 2, 50000};
    const struct place *place = *state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        write_rows(place->path, counts[i]);
        read_rows(place->path, counts[i]);
        assert_int_equal(unlink(place->path), 0);
    }
}

static size_t load(const char *path, char *bytes, size_t size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size = fread(bytes, 1, size, file);
    fclose(file);
    return size;
}

static void store(const char *path, const char *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void test_the_file_holds_the_whole_schema(void **state) {
    static char bytes[65536];
    const struct place *place = *state;
    const char *schema = event_schema_find(HISTORY_ROW_SCHEMA_ID)->json;
    write_rows(place->path, 1);
    size_t size = load(place->path, bytes, sizeof bytes);
    assert_memory_equal(bytes, "Obj\1", 4);
    assert_non_null(memmem(bytes, size, schema, strlen(schema)));
    assert_non_null(memmem(bytes, size, "timestamp-millis", strlen("timestamp-millis")));
    assert_non_null(memmem(bytes, size, "snappy", strlen("snappy")));
}

static void test_an_existing_file_is_left_alone(void **state) {
    const struct place *place = *state;
    struct container_writer *writer = NULL;
    struct error error;
    write_rows(place->path, 3);
    assert_int_equal(container_writer_open(place->path, &writer, &error), -EEXIST);
    assert_non_null(strstr(error.text, place->path));
    assert_null(writer);
    read_rows(place->path, 3);
    assert_int_equal(container_writer_open("/nonexistent/rows.avro", &writer, &error), -ENOENT);
}

static void test_an_abandoned_file_gets_no_rows(void **state) {
    const struct place *place = *state;
    struct container_writer *writer;
    const struct history_row row = row_of(1);
    assert_int_equal(container_writer_open(place->path, &writer, NULL), 0);
    assert_int_equal(container_writer_append(writer, &row, NULL), 0);
    container_writer_abandon(writer);
    container_writer_abandon(NULL);
    read_rows(place->path, 0);
}

/* With room for `bytes` and no more: the first failure, of append or close. */
static int write_within(const char *path, rlim_t bytes, struct error *error) {
    const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    struct container_writer *writer;
    setrlimit(RLIMIT_FSIZE, &limit);
    int rc = container_writer_open(path, &writer, error);
    bool opened = rc == 0;
    for (int64_t i = 0; i < 50000 && rc == 0; i++) {
        const struct history_row row = row_of(i);
        rc = container_writer_append(writer, &row, error);
    }
    if (opened && rc == 0)
        rc = container_writer_close(writer, error);
    else if (opened)
        assert_int_equal(container_writer_close(writer, NULL), rc);
    setrlimit(RLIMIT_FSIZE, &none);
    return rc;
}

static void test_a_full_disk_is_told(void **state) {
    const struct place *place = *state;
    struct error error;
    struct stat status;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(write_within(place->path, RLIM_INFINITY, &error), 0);
    assert_int_equal(stat(place->path, &status), 0);
    const rlim_t whole = (rlim_t)status.st_size;
    const rlim_t limits[] = {0, 10, whole / 2, whole - 1};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        assert_int_equal(unlink(place->path), 0);
        assert_int_equal(write_within(place->path, limits[i], &error), -EFBIG);
        assert_non_null(strstr(error.text, "File too large"));
    }
}

/* Reads a file that may be damaged. */
static int read_all(const char *path, struct error *error) {
    struct container_reader *reader;
    struct history_row row;
    if (__lsan_disable) __lsan_disable(); /* avro-c 1.11 leaks what it had made of a file that it then refuses */
    int rc = container_reader_open(path, &reader, error);
    if (__lsan_enable) __lsan_enable();
    if (rc != 0) return rc;
    while ((rc = container_reader_next(reader, &row, error)) == 1) {}
    container_reader_free(reader);
    return rc;
}

static void test_damaged_files_are_refused(void **state) {
    static char bytes[65536];
    const struct place *place = *state;
    struct error error;
    write_rows(place->path, 100);
    const size_t size = load(place->path, bytes, sizeof bytes);
    assert_int_equal(read_all(place->path, &error), 0);

    store(place->path, bytes, size - 100); /* cut within the block */
    assert_int_equal(read_all(place->path, &error), -EBADMSG);
    assert_non_null(strstr(error.text, place->path));
    store(place->path, bytes, size - 1); /* within the sync marker */
    assert_int_equal(read_all(place->path, &error), -EBADMSG);
    store(place->path, bytes, 100); /* within the header */
    assert_int_equal(read_all(place->path, &error), -EBADMSG);
    store(place->path, bytes, 0);
    assert_int_equal(read_all(place->path, &error), -EBADMSG);
    bytes[size - 100] ^= 1; /* a bit: the checksum of the block tells */
    store(place->path, bytes, size);
    assert_int_equal(read_all(place->path, &error), -EBADMSG);
    assert_int_equal(unlink(place->path), 0);
    assert_int_equal(read_all(place->path, &error), -ENOENT);
    write_rows(place->path, 0);
}

static void test_files_of_other_records_are_refused(void **state) {
    const struct place *place = *state;
    struct error error;
    const char *json = event_schema_find(LOCATION_SCHEMA_ID)->json;
    avro_schema_t schema;
    avro_file_writer_t writer;
    assert_int_equal(avro_schema_from_json_length(json, strlen(json), &schema), 0);
    assert_int_equal(avro_file_writer_create(place->path, schema, &writer), 0);
    assert_int_equal(avro_file_writer_close(writer), 0);
    avro_schema_decref(schema);
    assert_int_equal(read_all(place->path, &error), -EBADMSG);
    assert_non_null(strstr(error.text, "not a file of HistoryRow"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows_come_back, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_the_file_holds_the_whole_schema, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_an_existing_file_is_left_alone, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_an_abandoned_file_gets_no_rows, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_a_full_disk_is_told, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_damaged_files_are_refused, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_files_of_other_records_are_refused, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
