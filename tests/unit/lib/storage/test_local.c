/* A local directory as storage: files appear whole or not at all, one name is given once, and nothing stays of what failed. */
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
#include "unit/history-sink/world.h"

#define PATH "a/b/00007-file.avro"

static struct storage_writer *written(struct storage *storage, const char *path, const char *text) {
    struct storage_writer *writer;
    assert_int_equal(storage_create(storage, path, &writer, NULL), 0);
    assert_int_equal(storage_write(writer, text, strlen(text), NULL), 0);
    assert_int_equal(storage_written(writer), strlen(text));
    return writer;
}

static void check_content(struct storage *storage, const char *path, const char *text) {
    struct storage_reader *reader;
    char found[64];
    assert_int_equal(storage_read_open(storage, path, &reader, NULL), 0);
    ssize_t size = storage_read(reader, found, sizeof found, NULL);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(found, text, (size_t)size);
    assert_int_equal(storage_read(reader, found, sizeof found, NULL), 0);
    storage_read_close(reader);
}

static void count_entry(void *context, const struct storage_entry *entry) {
    int *count = context;
    assert_true(entry->changed_ms > 0);
    ++*count;
}

static int entries(struct storage *storage, const char *folder) {
    int count = 0;
    assert_int_equal(storage_list(storage, folder, count_entry, &count, NULL), 0);
    return count;
}

static void test_a_file_appears_when_it_is_published(void **state) {
    struct storage *storage = history_storage(*state);
    struct storage_reader *reader;
    struct storage_writer *writer = written(storage, PATH, "one");
    assert_int_equal(entries(storage, "a/b"), 0);
    assert_int_equal(storage_read_open(storage, PATH, &reader, NULL), -ENOENT);
    assert_int_equal(storage_publish(writer, NULL), 0);
    check_content(storage, PATH, "one");
    assert_int_equal(entries(storage, "a/b") + entries(storage, "a") + entries(storage, ""), 3);
    assert_int_equal(entries(storage, "not/there"), 0);
    assert_int_equal(history_count_files(*state, ""), 1);
    storage_close(storage);
    storage_close(NULL);
}

static void test_a_name_is_given_once(void **state) {
    struct storage *storage = history_storage(*state);
    struct storage_writer *one = written(storage, PATH, "one"), *two = written(storage, PATH, "two");
    assert_int_equal(storage_publish(two, NULL), 0);
    assert_int_equal(storage_publish(one, NULL), -EEXIST);
    check_content(storage, PATH, "two");
    assert_int_equal(storage_replace(written(storage, PATH, "three"), NULL), 0);
    check_content(storage, PATH, "three");
    storage_abandon(written(storage, PATH, "four"));
    storage_abandon(NULL);
    check_content(storage, PATH, "three");
    assert_int_equal(history_count_files(*state, ""), 1);
    storage_close(storage);
}

static void test_removed_with_its_folders(void **state) {
    struct storage *storage = history_storage(*state);
    assert_int_equal(storage_publish(written(storage, PATH, "one"), NULL), 0);
    assert_int_equal(storage_publish(written(storage, "a/other", "x"), NULL), 0);
    // Somebody else is about to write into the folder, which goes meanwhile.
    struct storage_writer *late = written(storage, "a/b/late", "late");
    assert_int_equal(storage_remove(storage, PATH, NULL), 0);
    assert_int_equal(storage_remove(storage, PATH, NULL), 0);
    assert_int_equal(storage_publish(late, NULL), 0);
    assert_int_equal(storage_remove(storage, "a/b/late", NULL), 0);
    assert_int_equal(entries(storage, "a"), 1);
    assert_int_equal(storage_remove(storage, "a/other", NULL), 0);
    assert_int_equal(entries(storage, ""), 0);
    assert_int_equal(storage_publish(written(storage, PATH, "again"), NULL), 0);
    storage_close(storage);
}

static bool is_seven(void *context, const char *name) { return strncmp(name, context, strlen(context)) == 0; }

static void test_swept(void **state) {
    static char seven[] = "00007-", eight[] = "00008-";
    struct storage *storage = history_storage(*state);
    struct storage_writer *writer = written(storage, PATH, "one");
    assert_int_equal(storage_sweep(storage, "a/b", is_seven, eight, NULL), 0);
    assert_int_equal(history_count_files(*state, ".tmp"), 1);
    assert_int_equal(storage_sweep(storage, "a/b", is_seven, seven, NULL), 0);
    assert_int_equal(history_count_files(*state, ".tmp"), 0);
    assert_int_equal(storage_publish(writer, NULL), -EEXIST);
    // By version 0.1, without the ending.
    char *old = mem_format("%s/a/b/.00007-0000000000000000010-0123456789abcdef.tmp", (char *)*state);
    FILE *stream = fopen(old, "wb");
    assert_non_null(stream);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(storage_sweep(storage, "a/b", is_seven, seven, NULL), 0);
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(storage_sweep(storage, "not/there", is_seven, seven, NULL), 0);
    free(old);
    storage_close(storage);
}

/* What a lost reply of NFS looks like: the link is there, and is said to exist. */
static void test_a_link_that_was_made_all_the_same(void **state) {
    struct storage *storage = history_storage(*state);
    struct storage_writer *writer = written(storage, "file", "one");
    char *command = mem_format("ln %s/.file-*.tmp %s/file", (char *)*state, (char *)*state);
    assert_int_equal(system(command), 0);
    assert_int_equal(storage_publish(writer, NULL), 0);
    check_content(storage, "file", "one");
    assert_int_equal(history_count_files(*state, ""), 1);
    free(command);
    storage_close(storage);
}

/* A disk that is not mounted does not look like an empty one, and its mount point gets no files. */
static void test_a_root_that_is_away(void **state) {
    char *away = mem_format("%s/away", (char *)*state);
    struct storage *storage = history_storage(away);
    struct storage_writer *writer;
    struct error error;
    int count = 0;
    assert_int_equal(storage_list(storage, "", count_entry, &count, &error), -ENOENT);
    assert_non_null(strstr(error.text, away));
    assert_int_equal(storage_create(storage, PATH, &writer, NULL), -ENOENT);
    storage_close(storage);
    free(away);
}

static void test_a_full_disk_leaves_nothing(void **state) {
    struct storage *storage = history_storage(*state);
    struct rlimit before, small;
    struct error error;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    small = (struct rlimit){.rlim_cur = 1, .rlim_max = before.rlim_max};
    struct storage_writer *writer;
    assert_int_equal(storage_create(storage, PATH, &writer, NULL), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int code = storage_write(writer, "more than one byte", 18, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(code, -EFBIG);
    assert_non_null(strstr(error.text, "large"));
    storage_abandon(writer);
    assert_int_equal(history_count_files(*state, ""), 0);
    storage_close(storage);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, history_make_folder, history_remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_a_file_appears_when_it_is_published),
        WITH_FOLDER(test_a_name_is_given_once),
        WITH_FOLDER(test_removed_with_its_folders),
        WITH_FOLDER(test_swept),
        WITH_FOLDER(test_a_link_that_was_made_all_the_same),
        WITH_FOLDER(test_a_root_that_is_away),
        WITH_FOLDER(test_a_full_disk_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
