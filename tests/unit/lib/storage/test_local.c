/* Tests local.c and storage.c. A local directory as storage: files appear whole or not at all, one name is given once, and nothing stays
 * of what failed. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "unit/history-sink/world.h"
#include "unit/kit/kit.h"

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

SET_UP() { return kit_folder(); }

TEST(test_a_file_appears_when_it_is_published, const char *folder) {
    struct storage *storage = history_storage(folder);
    struct storage_reader *reader;
    struct storage_writer *writer = written(storage, PATH, "one");
    assert_int_equal(entries(storage, "a/b"), 0);
    assert_int_equal(storage_read_open(storage, PATH, &reader, NULL), -ENOENT);
    assert_int_equal(storage_publish(writer, NULL), 0);
    check_content(storage, PATH, "one");
    assert_int_equal(entries(storage, "a/b") + entries(storage, "a") + entries(storage, ""), 3);
    assert_int_equal(entries(storage, "not/there"), 0);
    assert_int_equal(history_count_files(folder, ""), 1);
    storage_close(storage);
    storage_close(NULL);
}

TEST(test_a_name_is_given_once, const char *folder) {
    struct storage *storage = history_storage(folder);
    struct storage_writer *one = written(storage, PATH, "one"), *two = written(storage, PATH, "two");
    assert_int_equal(storage_publish(two, NULL), 0);
    assert_int_equal(storage_publish(one, NULL), -EEXIST);
    check_content(storage, PATH, "two");
    assert_int_equal(storage_replace(written(storage, PATH, "three"), NULL), 0);
    check_content(storage, PATH, "three");
    storage_abandon(written(storage, PATH, "four"));
    storage_abandon(NULL);
    check_content(storage, PATH, "three");
    assert_int_equal(history_count_files(folder, ""), 1);
    storage_close(storage);
}

TEST(test_removed_with_its_folders, const char *folder) {
    struct storage *storage = history_storage(folder);
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

TEST(test_swept, const char *folder) {
    static char seven[] = "00007-", eight[] = "00008-";
    struct storage *storage = history_storage(folder);
    struct storage_writer *writer = written(storage, PATH, "one");
    assert_int_equal(storage_sweep(storage, "a/b", is_seven, eight, NULL), 0);
    assert_int_equal(history_count_files(folder, ".tmp"), 1);
    assert_int_equal(storage_sweep(storage, "a/b", is_seven, seven, NULL), 0);
    assert_int_equal(history_count_files(folder, ".tmp"), 0);
    assert_int_equal(storage_publish(writer, NULL), -EEXIST);
    // By version 0.1, without the ending.
    FREED char *old = mem_format("%s/a/b/.00007-0000000000000000010-0123456789abcdef.tmp", folder);
    FILE *stream = fopen(old, "wb");
    assert_non_null(stream);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(storage_sweep(storage, "a/b", is_seven, seven, NULL), 0);
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(storage_sweep(storage, "not/there", is_seven, seven, NULL), 0);
    storage_close(storage);
}

/* What a lost reply of NFS looks like: the link is there, and is said to exist. */
TEST(test_a_link_that_was_made_all_the_same, const char *folder) {
    struct storage *storage = history_storage(folder);
    struct storage_writer *writer = written(storage, "file", "one");
    FREED char *command = mem_format("ln %s/.file-*.tmp %s/file", folder, folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(storage_publish(writer, NULL), 0);
    check_content(storage, "file", "one");
    assert_int_equal(history_count_files(folder, ""), 1);
    storage_close(storage);
}

/* A disk that is not mounted does not look like an empty one, and its mount point gets no files. */
TEST(test_a_root_that_is_away, const char *folder) {
    FREED char *away = mem_format("%s/away", folder);
    struct storage *storage = history_storage(away);
    struct storage_writer *writer;
    int count = 0;
    assert_fails(storage_list(storage, "", count_entry, &count, &failure), -ENOENT, away);
    assert_int_equal(storage_create(storage, PATH, &writer, NULL), -ENOENT);
    storage_close(storage);
}

TEST(test_a_full_disk_leaves_nothing, const char *folder) {
    struct storage *storage = history_storage(folder);
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
    assert_int_equal(history_count_files(folder, ""), 0);
    storage_close(storage);
}
