/* The folder of history files: names, what a scan finds, and who may publish. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folders.h"
#include "base/mem.h"
#include "history_world.h"

enum { HOUR = 492541 }; /* 2026-03-10, 13 UTC */

static void touch(const char *folder, const char *name) {
    char *path = mem_format("%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    close(fd);
    free(path);
}

static void test_names(void **state) {
    char *path = archive_path("/h", 3, (struct archive_file){.hour = HOUR, .first = 104729});
    assert_string_equal(path, "/h/date=2026-03-10/hour=13/00003-0000000000000104729.avro");
    free(path);
    path = archive_path("/h", 123456, (struct archive_file){.hour = 0, .first = INT64_MAX});
    assert_string_equal(path, "/h/date=1970-01-01/hour=00/123456-9223372036854775807.avro");
    free(path);
    assert_int_equal(archive_hour_of(HOUR * (int64_t)HISTORY_HOUR_MS), HOUR);
    assert_int_equal(archive_hour_of(HOUR * (int64_t)HISTORY_HOUR_MS - 1), HOUR - 1);
    assert_int_equal(archive_hour_of(-1), 0);
}

static void test_temporary_names_are_hidden_and_differ(void **state) {
    const struct archive_file file = {.hour = HOUR, .first = 7};
    char *a = archive_temporary_path("/h", 3, file), *b = archive_temporary_path("/h", 3, file);
    assert_memory_equal(a, "/h/date=2026-03-10/hour=13/.00003-0000000000000000007-", 54);
    assert_string_equal(a + strlen(a) - 4, ".tmp");
    assert_string_not_equal(a, b);
    free(a);
    free(b);
}

static void test_an_empty_folder_and_none(void **state) {
    struct archive_wanted wanted = {.partition = 0, .from = 0};
    assert_int_equal(archive_scan(*state, &wanted, 1, false, NULL), 0);
    assert_int_equal(wanted.found.count, 0);
    // A folder that is not mounted must not look like one without files.
    char *gone = mem_format("%s/gone", (char *)*state);
    assert_int_equal(archive_scan(gone, &wanted, 1, false, NULL), -ENOENT);
    char *deep = mem_format("%s/a/b", gone);
    assert_int_equal(folders_make(deep, NULL), 0);
    assert_int_equal(folders_make(deep, NULL), 0);
    assert_int_equal(archive_scan(deep, &wanted, 1, false, NULL), 0);
    free(gone);
    free(deep);
}

/* Partition p has files [0..9], [10..19], ... one an hour, from HOUR on. */
static void publish_chain(const char *folder, int32_t partition, int files) {
    struct archive_file before;
    for (int i = 0; i < files; i++)
        before = history_publish(folder, partition, i ? &before : NULL, 10 * i, 10 * i + 9, HOUR + i).file;
}

static void check_found(const struct archive_list *found, int64_t first, int64_t last) {
    assert_int_equal(found->count, (last - first) / 10 + 1);
    for (size_t i = 0; i < found->count; i++) {
        assert_int_equal(found->files[i].first, first + 10 * (int64_t)i);
        assert_int_equal(found->files[i].hour, HOUR + found->files[i].first / 10);
    }
}

static void test_a_scan_finds_what_may_hold_an_offset(void **state) {
    publish_chain(*state, 1, 30);
    publish_chain(*state, 5, 3);
    static const struct {
        int64_t from, first;
    } cases[] = {{0, 0}, {9, 0}, {10, 10}, {155, 150}, {290, 290}, {299, 290}, {300, 290}, {INT64_MAX, 290}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct archive_wanted wanted[] = {{.partition = 5, .from = INT64_MAX},
                                          {.partition = 1, .from = cases[i].from},
                                          {.partition = 2, .from = 0},
                                          {.partition = 9, .from = 0}};
        assert_int_equal(archive_scan(*state, wanted, 4, false, NULL), 0);
        check_found(&wanted[0].found, 20, 20);
        check_found(&wanted[1].found, cases[i].first, 290);
        assert_int_equal(wanted[2].found.count + wanted[3].found.count, 0);
        for (int j = 0; j < 4; j++) archive_list_clear(&wanted[j].found);
    }
}

/* The newest hours decide: a file in an unreadable older hour is not looked for. */
static void test_a_scan_stops_early(void **state) {
    publish_chain(*state, 1, 30);
    char *old = mem_format("%s/date=2026-03-10/hour=13", (char *)*state);
    char *away = mem_format("%s/away", (char *)*state);
    assert_int_equal(rename(old, away), 0);
    int fd = open(old, O_WRONLY | O_CREAT, 0600); // opening it as a folder fails
    assert_true(fd >= 0);
    close(fd);
    struct archive_wanted wanted = {.partition = 1, .from = 10};
    assert_int_equal(archive_scan(*state, &wanted, 1, false, NULL), 0);
    check_found(&wanted.found, 10, 290);
    archive_list_clear(&wanted.found);
    wanted.from = 9;
    assert_int_equal(archive_scan(*state, &wanted, 1, false, NULL), -ENOTDIR);
    archive_list_clear(&wanted.found);
    free(old);
    free(away);
}

static void test_what_is_none_of_ours_is_passed_over(void **state) {
    static const char *const NAMES[] = {"_SUCCESS",
                                        "00001-0000000000000000099.avro.bak",
                                        "1-99.avro",
                                        "00001--000000000000000001.avro",
                                        "00001-0000000000000000099",
                                        "00001-00000000000000000099.avro",
                                        ".00001-0000000000000000099.avro"};
    publish_chain(*state, 1, 1);
    char *hour = mem_format("%s/date=2026-03-10/hour=13", (char *)*state);
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) touch(hour, NAMES[i]);
    static const char *const FOLDERS[] = {"date=2026-3-11",         "date=2026-02-31", "date=2026-03-10/hour=24",
                                          "date=2026-03-10/hour=7", "lost+found",      "date=2026-03-10/minute=13"};
    for (size_t i = 0; i < sizeof FOLDERS / sizeof FOLDERS[0]; i++) {
        char *path = mem_format("%s/%s", (char *)*state, FOLDERS[i]);
        assert_int_equal(mkdir(path, 0700), 0);
        touch(path, "00001-0000000000000000050.avro");
        free(path);
    }
    struct archive_wanted wanted = {.partition = 1, .from = 0};
    assert_int_equal(archive_scan(*state, &wanted, 1, true, NULL), 0);
    check_found(&wanted.found, 0, 0);
    archive_list_clear(&wanted.found);
    assert_int_equal(history_count_files(*state, "99.avro"), 3); // nothing was swept away
    free(hour);
}

static struct history_segment *open_segment(const char *folder, const struct archive_file *before, int64_t first) {
    struct history_segment *segment;
    struct history_row row = history_row_at(1, first, (HOUR + 5) * (int64_t)HISTORY_HOUR_MS);
    assert_int_equal(segment_open(folder, before, first, &row, &segment, NULL), 0);
    assert_int_equal(segment_append(segment, &row, NULL), 0);
    return segment;
}

static void test_only_the_first_publishes(void **state) {
    struct segment_published published, before = history_publish(*state, 1, NULL, 0, 9, HOUR);
    struct history_segment *a = open_segment(*state, &before.file, 10), *b = open_segment(*state, &before.file, 10);
    assert_int_equal(history_count_files(*state, ".tmp"), 2);
    assert_int_equal(history_count_files(*state, ".avro"), 1);
    assert_int_equal(segment_publish(a, &published, NULL), 0);
    assert_int_equal(published.file.first, 10);
    assert_int_equal(published.last, 10);
    assert_int_equal(segment_publish(b, &published, NULL), -EEXIST);
    assert_int_equal(history_count_files(*state, ".tmp"), 0);
    assert_int_equal(history_count_files(*state, ".avro"), 2);
}

/* A sink that believes that there is no file yet, or goes on from one that is not the newest any more, under whatever hour. */
static void test_who_missed_a_file_does_not_publish(void **state) {
    struct segment_published published, first = history_publish(*state, 1, NULL, 0, 9, HOUR);
    struct history_segment *fresh = open_segment(*state, NULL, 0), *late = open_segment(*state, &first.file, 10);
    history_publish(*state, 1, &first.file, 10, 19, HOUR + 1);
    struct error error;
    assert_int_equal(segment_publish(fresh, &published, &error), -EEXIST);
    assert_non_null(strstr(error.text, "another file is the newest"));
    assert_int_equal(segment_publish(late, &published, &error), -EEXIST);
    assert_int_equal(history_count_files(*state, ".avro"), 2);
}

static void test_who_lost_its_newest_file_does_not_publish(void **state) {
    struct segment_published published, first = history_publish(*state, 1, NULL, 0, 9, HOUR);
    struct segment_published second = history_publish(*state, 1, &first.file, 10, 19, HOUR);
    struct history_segment *segment = open_segment(*state, &second.file, 20);
    char *path = archive_path(*state, 1, second.file);
    assert_int_equal(unlink(path), 0); // an operator's hand
    assert_int_equal(segment_publish(segment, &published, NULL), -EEXIST);
    free(path);
}

static void test_a_sweep_stops_who_still_writes(void **state) {
    struct segment_published published, first = history_publish(*state, 1, NULL, 0, 9, HOUR);
    struct history_segment *mine = open_segment(*state, &first.file, 10);
    struct archive_wanted others = {.partition = 2, .from = INT64_MAX}, wanted = {.partition = 1, .from = INT64_MAX};
    assert_int_equal(archive_scan(*state, &others, 1, true, NULL), 0);
    assert_int_equal(archive_scan(*state, &wanted, 1, false, NULL), 0);
    assert_int_equal(history_count_files(*state, ".tmp"), 1);
    archive_list_clear(&wanted.found);
    assert_int_equal(archive_scan(*state, &wanted, 1, true, NULL), 0);
    assert_int_equal(history_count_files(*state, ".tmp"), 0);
    assert_int_equal(wanted.found.count, 1);
    assert_int_equal(segment_publish(mine, &published, NULL), -EEXIST);
    assert_int_equal(history_count_files(*state, ".avro"), 1);
    archive_list_clear(&wanted.found);
}

/* What a lost reply of NFS looks like: the link is there, and is said to exist. */
static void test_a_link_that_was_made_all_the_same(void **state) {
    const struct archive_file file = {.hour = HOUR, .first = 0};
    assert_int_equal(archive_create_hour(*state, HOUR, NULL), 0);
    char *temporary = archive_temporary_path(*state, 1, file), *path = archive_path(*state, 1, file);
    FILE *stream = fopen(temporary, "wb");
    assert_non_null(stream);
    assert_int_equal(fclose(stream), 0);
    // `before` is what the scan finds, so that only link(2) is in the way.
    assert_int_equal(link(temporary, path), 0);
    assert_int_equal(archive_publish(*state, 1, &file, file, temporary, NULL), 0);
    assert_int_equal(access(temporary, F_OK), -1);
    assert_int_equal(access(path, F_OK), 0);
    stream = fopen(temporary, "wb");
    assert_non_null(stream);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(archive_publish(*state, 1, &file, file, temporary, NULL), -EEXIST);
    assert_int_equal(access(temporary, F_OK), -1);
    free(temporary);
    free(path);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, history_make_folder, history_remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_temporary_names_are_hidden_and_differ),
        WITH_FOLDER(test_an_empty_folder_and_none),
        WITH_FOLDER(test_a_scan_finds_what_may_hold_an_offset),
        WITH_FOLDER(test_a_scan_stops_early),
        WITH_FOLDER(test_what_is_none_of_ours_is_passed_over),
        WITH_FOLDER(test_only_the_first_publishes),
        WITH_FOLDER(test_who_missed_a_file_does_not_publish),
        WITH_FOLDER(test_who_lost_its_newest_file_does_not_publish),
        WITH_FOLDER(test_a_sweep_stops_who_still_writes),
        WITH_FOLDER(test_a_link_that_was_made_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
