/* Tests archive.c, archive_publish.c and archive_scan.c. The folder of history files: names, what a scan finds, and who may publish. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/folders.h"
#include "unit/history-sink/world.h"
#include "unit/kit/kit.h"

enum { HOUR = 492541 }; /* 2026-03-10, 13 UTC */

static void touch(const char *folder, const char *name) {
    FREED char *path = mem_format("%s/%s", folder, name);
    FREED_BY(kit_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
}

static void check_path(int32_t partition, struct archive_file file, const char *expected) {
    FREED char *path = archive_path(partition, file);
    assert_string_equal(path, expected);
}

SET_UP() { return kit_folder(); }

TEST(test_names) {
    check_path(3, (struct archive_file){.hour = HOUR, .first = 104729},
               "date=2026-03-10/hour=13/00003-0000000000000104729.avro");
    check_path(123456, (struct archive_file){.hour = 0, .first = INT64_MAX},
               "date=1970-01-01/hour=00/123456-9223372036854775807.avro");
    check_path(3, (struct archive_file){.hour = HOUR, .first = 104729, .end = 117350},
               "hours/date=2026-03-10/hour=13/00003-0000000000000104729-0000000000000117350.avro");
    assert_int_equal(archive_hour_of(HOUR * (int64_t)HISTORY_HOUR_MS), HOUR);
    assert_int_equal(archive_hour_of(HOUR * (int64_t)HISTORY_HOUR_MS - 1), HOUR - 1);
    assert_int_equal(archive_hour_of(-1), 0);
}

TEST(test_names_are_read) {
    static const struct {
        enum archive_tree tree;
        const char *name;
        bool ours;
    } cases[] = {
        {ARCHIVE_SMALL, "00003-0000000000000104729.avro", true},
        {ARCHIVE_MERGED, "00003-0000000000000104729.avro", false},
        {ARCHIVE_MERGED, "00003-0000000000000104729-0000000000000117350.avro", true},
        {ARCHIVE_SMALL, "00003-0000000000000104729-0000000000000117350.avro", false},
        {ARCHIVE_MERGED, "00003-0000000000000104729-0000000000000104729.avro", false}, // empty
        {ARCHIVE_MERGED, "00003-0000000000000104729-117350.avro", false},
        {ARCHIVE_MERGED, "00003-0000000000000104729-0000000000000117350.avro.tmp", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t partition;
        struct archive_file file = {.end = -1};
        assert_int_equal(archive_parse(cases[i].tree, cases[i].name, &partition, &file), cases[i].ours);
        if (!cases[i].ours) continue;
        assert_int_equal(partition, 3);
        assert_int_equal(file.first, 104729);
        assert_int_equal(file.end, cases[i].tree == ARCHIVE_MERGED ? 117350 : 0);
    }
}

/* With a storage of its own. */
static int scan(const char *folder, struct archive_wanted *wanted, size_t count, bool sweep) {
    struct storage *storage = history_storage(folder);
    int code = archive_scan(storage, wanted, count, sweep, NULL);
    storage_close(storage);
    return code;
}

TEST(test_an_empty_folder_and_none, const char *folder) {
    struct archive_wanted wanted = {.partition = 0, .from = 0};
    assert_int_equal(scan(folder, &wanted, 1, false), 0);
    assert_int_equal(wanted.found.count, 0);
    // A folder that is not mounted must not look like one without files.
    FREED char *gone = mem_format("%s/gone", folder);
    assert_int_equal(scan(gone, &wanted, 1, false), -ENOENT);
    FREED char *deep = mem_format("%s/a/b", gone);
    assert_int_equal(folders_make(deep, NULL), 0);
    assert_int_equal(folders_make(deep, NULL), 0);
    assert_int_equal(scan(deep, &wanted, 1, false), 0);
}

/* Partition p has files [0..9], [10..19], ... one an hour, from HOUR on. */
static void publish_chain(const char *folder, int32_t partition, int files) {
    struct chain_end before;
    for (int i = 0; i < files; i++)
        before = history_publish(folder, partition, i ? &before : NULL, 10 * i + 9, HOUR + i).chain;
}

static void check_found(const struct archive_list *found, int64_t first, int64_t last) {
    assert_int_equal(found->count, (last - first) / 10 + 1);
    for (size_t i = 0; i < found->count; i++) {
        assert_int_equal(found->files[i].first, first + 10 * (int64_t)i);
        assert_int_equal(found->files[i].hour, HOUR + found->files[i].first / 10);
    }
}

TEST(test_a_scan_finds_what_may_hold_an_offset, const char *folder) {
    publish_chain(folder, 1, 30);
    publish_chain(folder, 5, 3);
    static const struct {
        int64_t from, first;
    } cases[] = {{0, 0}, {9, 0}, {10, 10}, {155, 150}, {290, 290}, {299, 290}, {300, 290}, {INT64_MAX, 290}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct archive_wanted wanted[] = {{.partition = 5, .from = INT64_MAX},
                                          {.partition = 1, .from = cases[i].from},
                                          {.partition = 2, .from = 0},
                                          {.partition = 9, .from = 0}};
        assert_int_equal(scan(folder, wanted, 4, false), 0);
        check_found(&wanted[0].found, 20, 20);
        check_found(&wanted[1].found, cases[i].first, 290);
        assert_int_equal(wanted[2].found.count + wanted[3].found.count, 0);
        for (int j = 0; j < 4; j++) archive_list_clear(&wanted[j].found);
    }
}

/* The newest hours decide: a file in an unreadable older hour is not looked for. */
TEST(test_a_scan_stops_early, const char *folder) {
    publish_chain(folder, 1, 30);
    FREED char *old = mem_format("%s/date=2026-03-10/hour=13", folder);
    FREED char *away = mem_format("%s/away", folder);
    assert_int_equal(rename(old, away), 0);
    int fd = open(old, O_WRONLY | O_CREAT, 0600); // opening it as a folder fails
    assert_true(fd >= 0);
    close(fd);
    struct archive_wanted wanted = {.partition = 1, .from = 10};
    assert_int_equal(scan(folder, &wanted, 1, false), 0);
    check_found(&wanted.found, 10, 290);
    archive_list_clear(&wanted.found);
    wanted.from = 9;
    assert_int_equal(scan(folder, &wanted, 1, false), -ENOTDIR);
    archive_list_clear(&wanted.found);
}

TEST(test_what_is_none_of_ours_is_passed_over, const char *folder) {
    static const char *const NAMES[] = {"_SUCCESS",
                                        "00001-0000000000000000099.avro.bak",
                                        "1-99.avro",
                                        "00001--000000000000000001.avro",
                                        "00001-0000000000000000099",
                                        "00001-00000000000000000099.avro",
                                        ".00001-0000000000000000099.avro"};
    publish_chain(folder, 1, 1);
    FREED char *hour = mem_format("%s/date=2026-03-10/hour=13", folder);
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) touch(hour, NAMES[i]);
    static const char *const FOLDERS[] = {"date=2026-3-11",         "date=2026-02-31", "date=2026-03-10/hour=24",
                                          "date=2026-03-10/hour=7", "lost+found",      "date=2026-03-10/minute=13"};
    for (size_t i = 0; i < sizeof FOLDERS / sizeof FOLDERS[0]; i++) {
        FREED char *path = mem_format("%s/%s", folder, FOLDERS[i]);
        assert_int_equal(mkdir(path, 0700), 0);
        touch(path, "00001-0000000000000000050.avro");
    }
    struct archive_wanted wanted = {.partition = 1, .from = 0};
    assert_int_equal(scan(folder, &wanted, 1, true), 0);
    check_found(&wanted.found, 0, 0);
    archive_list_clear(&wanted.found);
    assert_int_equal(history_count_files(folder, "99.avro"), 3); // nothing was swept away
}

static struct history_segment *one_row(const struct chain_end *before) {
    struct history_row row = history_row_at(1, before->end, (HOUR + 5) * (int64_t)HISTORY_HOUR_MS);
    struct history_segment *segment = segment_new(before, &row);
    segment_append(segment, &row);
    return segment;
}

static int publish(const char *folder, struct history_segment *segment, struct chain_end *chain, struct error *error) {
    struct segment_published published;
    struct storage *storage = history_storage(folder);
    int code = segment_publish(segment, storage, &published, error);
    storage_close(storage);
    if (code == 0) *chain = published.chain;
    return code;
}

TEST(test_only_the_first_publishes, const char *folder) {
    struct chain_end chain, before = history_publish(folder, 1, NULL, 9, HOUR).chain;
    struct history_segment *a = one_row(&before), *b = one_row(&before);
    assert_int_equal(publish(folder, a, &chain, NULL), 0);
    assert_int_equal(chain.file.first, 10);
    assert_int_equal(chain.end, 11);
    assert_int_equal(publish(folder, b, &chain, NULL), -EEXIST);
    assert_int_equal(history_count_files(folder, ".tmp"), 0);
    assert_int_equal(history_count_files(folder, ".avro"), 2);
}

/* A sink that believes that there is no file yet, or goes on from one that is not the newest any more, under whatever hour. */
TEST(test_who_missed_a_file_does_not_publish, const char *folder) {
    const struct chain_end none = {.some = false};
    struct chain_end chain, first = history_publish(folder, 1, NULL, 9, HOUR).chain;
    struct history_segment *fresh = one_row(&none), *late = one_row(&first);
    history_publish(folder, 1, &first, 19, HOUR + 1);
    assert_fails(publish(folder, fresh, &chain, &failure), -EEXIST, "another file is the newest");
    assert_int_equal(publish(folder, late, &chain, &failure), -EEXIST);
    assert_int_equal(history_count_files(folder, ".avro"), 2);
}

TEST(test_who_lost_its_newest_file_does_not_publish, const char *folder) {
    struct chain_end chain, first = history_publish(folder, 1, NULL, 9, HOUR).chain;
    struct chain_end second = history_publish(folder, 1, &first, 19, HOUR).chain;
    struct storage *storage = history_storage(folder);
    FREED char *path = archive_path(1, second.file);
    assert_int_equal(storage_remove(storage, path, NULL), 0); // an operator's hand
    assert_int_equal(publish(folder, one_row(&second), &chain, NULL), -EEXIST);
    storage_close(storage);
}

TEST(test_a_sweep_removes_hidden_files_of_what_is_wanted, const char *folder) {
    publish_chain(folder, 1, 1);
    FREED char *hour = mem_format("%s/date=2026-03-10/hour=13", folder);
    touch(hour, ".00001-0000000000000000010.avro-0123456789abcdef.tmp");
    struct archive_wanted others = {.partition = 2, .from = INT64_MAX}, wanted = {.partition = 1, .from = INT64_MAX};
    assert_int_equal(scan(folder, &others, 1, true), 0);
    assert_int_equal(scan(folder, &wanted, 1, false), 0);
    assert_int_equal(history_count_files(folder, ".tmp"), 1);
    archive_list_clear(&wanted.found);
    assert_int_equal(scan(folder, &wanted, 1, true), 0);
    assert_int_equal(history_count_files(folder, ".tmp"), 0);
    assert_int_equal(wanted.found.count, 1);
    archive_list_clear(&wanted.found);
}

/* Merged files stand for the small ones that they cover, whichever of these are still there. */
TEST(test_a_scan_prefers_merged_files, const char *folder) {
    publish_chain(folder, 1, 4);
    char *command = mem_format("cd %s && mkdir -p hours/date=2026-03-10/hour=14 && cp date=2026-03-10/hour=14/* "
                               "hours/date=2026-03-10/hour=14/00001-0000000000000000010-0000000000000000020.avro",
                               folder);
    assert_int_equal(system(command), 0);
    for (int removed = 0; removed < 2; removed++) {
        struct archive_wanted wanted[] = {{.partition = 1, .from = 0}, {.partition = 2, .from = 0}};
        assert_int_equal(scan(folder, wanted, 2, false), 0);
        check_found(&wanted[0].found, 0, 30);
        for (size_t i = 0; i < 4; i++) assert_int_equal(wanted[0].found.files[i].end, i == 1 ? 20 : 0);
        assert_int_equal(wanted[1].found.count, 0);
        archive_list_clear(&wanted[0].found);
        struct archive_wanted later = {.partition = 1, .from = 15};
        assert_int_equal(scan(folder, &later, 1, false), 0);
        check_found(&later.found, 10, 30);
        archive_list_clear(&later.found);
        free(command);
        command = mem_format("rm -rf %s/date=2026-03-10/hour=14", folder);
        assert_int_equal(system(command), 0);
    }
    free(command);
}

/* An hour that was closed gets no more files: neither from whoever closed it nor from one who has not noticed. */
TEST(test_a_closed_hour, const char *folder) {
    struct chain_end chain, open = history_publish(folder, 1, NULL, 9, HOUR).chain;
    struct history_row row = history_row_at(1, 10, HOUR * (int64_t)HISTORY_HOUR_MS);
    assert_false(chain_closed(&open));
    assert_int_equal(publish(folder, segment_closing(1, &open), &chain, NULL), 0);
    assert_true(chain_closed(&chain));
    assert_int_equal(chain.file.hour, HOUR);
    assert_int_equal(chain.file.first, 10);
    assert_int_equal(chain.end, 10);
    struct history_segment *late = segment_new(&open, &row), *next = segment_new(&chain, &row);
    segment_append(late, &row);
    segment_append(next, &row);
    assert_int_equal(publish(folder, late, &chain, NULL), -EEXIST);
    assert_int_equal(publish(folder, next, &chain, NULL), 0);
    assert_int_equal(chain.file.hour, HOUR + 1);
    assert_int_equal(chain.file.first, 10);
    struct archive_wanted wanted = {.partition = 1, .from = 0};
    assert_int_equal(scan(folder, &wanted, 1, false), 0);
    assert_int_equal(wanted.found.count, 3);
    archive_list_clear(&wanted.found);
}
