/* Tests merge.c and merge_rows.c. Merging small files of closed hours: each row once, sorted; what is merged goes after a while; and it
 * can end anywhere. */
#include <sys/stat.h>

#include "history-sink/merge.h"
#include "history-sink/merge_rows.h"
#include "unit/history-sink/world.h"
#include "unit/kit/kit.h"

enum { HOUR = 492541, PARTITION = 3, KEEP_MS = 60000 };

struct merge_world {
    struct storage *storage, *scratch;
    char *scratch_folder;
    atomic_bool stop;
};

static void world_begin(struct merge_world *world, const char *folder) {
    world->stop = false;
    world->scratch_folder = mem_format("%s/scratch", folder);
    assert_int_equal(mkdir(world->scratch_folder, 0700), 0);
    world->storage = history_storage(folder);
    world->scratch = history_storage(world->scratch_folder);
}

static void world_end(struct merge_world *world) {
    assert_int_equal(history_count_files(world->scratch_folder, ""), 0);
    storage_close(world->storage);
    storage_close(world->scratch);
    free(world->scratch_folder);
}

static int merge_after(struct merge_world *world, int64_t after_ms, struct merge_done *done, struct error *error) {
    static const int32_t PARTITIONS[] = {PARTITION, 8};
    *done = (struct merge_done){.merged_files = 0};
    return merge_round(&(struct merge_options){.storage = world->storage,
                                               .scratch = world->scratch,
                                               .stop = &world->stop,
                                               .now_ms = clock_wall_ms() + after_ms,
                                               .keep_ms = KEEP_MS},
                       PARTITIONS, 2, done, error);
}

static void check_merge(struct merge_world *world, int64_t after_ms, int64_t merged, int64_t removed) {
    struct merge_done done;
    struct error error = {.text = ""};
    int code = merge_after(world, after_ms, &done, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(code, 0);
    assert_int_equal(done.merged_files, merged);
    assert_int_equal(done.removed_files, removed);
}

/* That file's rows are sorted, and those of [first, end), each once. */
static void check_rows(struct merge_world *world, struct archive_file file, int64_t first, int64_t end) {
    struct segment_reader *reader;
    struct history_row row, before = {.user = -1};
    int64_t rows = 0, sum = 0;
    assert_int_equal(segment_reader_open(world->storage, PARTITION, file, &reader, NULL), 0);
    assert_true(segment_reader_sorted(reader));
    while (segment_reader_next(reader, &row, NULL) > 0) {
        assert_true(segment_row_order(&before, &row) < 0);
        before = row;
        rows++;
        sum += row.offset;
    }
    assert_int_equal(segment_reader_end(reader), end);
    segment_reader_free(reader);
    assert_int_equal(rows, end - first);
    assert_int_equal(sum, (first + end - 1) * (end - first) / 2);
}

SET_UP() { return kit_folder(); }

TEST(test_a_closed_hour_is_merged, const char *folder) {
    FREED_BY(world_end) struct merge_world world;
    struct chain_end chain = history_publish(folder, PARTITION, NULL, 499, HOUR).chain;
    for (int i = 2; i <= 4; i++) chain = history_publish(folder, PARTITION, &chain, 500 * i - 1, HOUR).chain;
    world_begin(&world, folder);
    check_merge(&world, 0, 0, 0); // no later hour yet
    history_publish(folder, PARTITION, &chain, 2099, HOUR + 1);
    check_merge(&world, 0, 1, 0);
    check_rows(&world, (struct archive_file){.hour = HOUR, .first = 0, .end = 2000}, 0, 2000);
    assert_int_equal(history_count_files(folder, ".avro"), 6);
    check_merge(&world, KEEP_MS / 2, 0, 0); // not removed yet
    check_merge(&world, 2 * KEEP_MS, 0, 4);
    check_merge(&world, 2 * KEEP_MS, 0, 0);
    assert_int_equal(history_count_files(folder, ".avro"), 2);
    struct archive_wanted wanted = {.partition = PARTITION, .from = 0};
    assert_int_equal(archive_scan(world.storage, &wanted, 1, false, NULL), 0);
    assert_int_equal(wanted.found.count, 2);
    assert_int_equal(wanted.found.files[0].end, 2000);
    archive_list_clear(&wanted.found);
}

/* Closed by an empty file, which goes with the others; the chain goes on behind the merged file, in a later hour. */
TEST(test_a_quiet_partition, const char *folder) {
    FREED_BY(world_end) struct merge_world world;
    struct chain_end chain = history_publish(folder, PARTITION, NULL, 99, HOUR).chain;
    struct segment_published published;
    world_begin(&world, folder);
    assert_int_equal(segment_publish(segment_closing(PARTITION, &chain), world.storage, &published, NULL), 0);
    check_merge(&world, 0, 1, 0);
    check_merge(&world, 2 * KEEP_MS, 0, 2);
    assert_int_equal(history_count_files(folder, ".avro"), 1);
    chain = history_publish(folder, PARTITION, &published.chain, 199, HOUR).chain; // still from behind the empty one
    assert_int_equal(chain.file.hour, HOUR + 1);
    chain = history_publish(folder, PARTITION, &chain, 299, HOUR + 2).chain;
    check_merge(&world, 0, 1, 0);
    check_rows(&world, (struct archive_file){.hour = HOUR + 1, .first = 100, .end = 200}, 100, 200);
}

/* Killed between publication and removal, or in the middle of that. */
TEST(test_it_goes_on_after_a_kill, const char *folder) {
    FREED_BY(world_end) struct merge_world world;
    struct chain_end first = history_publish(folder, PARTITION, NULL, 9, HOUR).chain, chain;
    chain = history_publish(folder, PARTITION, &first, 19, HOUR).chain;
    history_publish(folder, PARTITION, &chain, 29, HOUR + 1);
    world_begin(&world, folder);
    check_merge(&world, 0, 1, 0);
    FREED char *path = archive_path(PARTITION, first.file);
    assert_int_equal(storage_remove(world.storage, path, NULL), 0);
    check_merge(&world, KEEP_MS / 2, 0, 0);
    check_merge(&world, 2 * KEEP_MS, 0, 1);
    // A scratch file of a process that was killed.
    struct storage_writer *writer;
    assert_int_equal(storage_create(world.scratch, "hours/date=1970-01-01/hour=00/x", &writer, NULL), 0);
    assert_int_equal(storage_publish(writer, NULL), 0);
    assert_int_equal(storage_create(world.scratch, "hours/date=1970-01-01/hour=00/y", &writer, NULL), 0);
    assert_int_equal(merge_clean(world.scratch, NULL), 0);
    assert_int_equal(storage_publish(writer, &failure), -EEXIST); // also what was still being written
}

/* More files than are open at once, by way of the scratch. */
TEST(test_many_files, const char *folder) {
    enum { FILES = 2 * MERGE_FILES + 5, ROWS = 7 };
    FREED_BY(world_end) struct merge_world world;
    struct chain_end chain = history_publish(folder, PARTITION, NULL, ROWS - 1, HOUR).chain;
    for (int i = 2; i <= FILES; i++) chain = history_publish(folder, PARTITION, &chain, ROWS * i - 1, HOUR).chain;
    history_publish(folder, PARTITION, &chain, ROWS * FILES, HOUR + 1);
    world_begin(&world, folder);
    check_merge(&world, 0, 1, 0);
    check_rows(&world, (struct archive_file){.hour = HOUR, .first = 0, .end = ROWS * FILES}, 0, ROWS * FILES);
}

/* A file of the hour with the rows of [first, until), behind the sinks' backs. It says that it ends there; -1: nothing. */
static void write_file(struct storage *storage, int64_t first, int64_t until, int64_t end) {
    struct segment_writer *writer;
    struct storage_writer *file;
    FREED char *path = archive_path(PARTITION, (struct archive_file){.hour = HOUR, .first = first});
    assert_int_equal(segment_writer_open(storage, path, end, true, &writer, NULL), 0);
    for (int64_t offset = first; offset < until; offset++) {
        struct history_row row = history_row_at(PARTITION, offset, HOUR * (int64_t)HISTORY_HOUR_MS);
        assert_int_equal(segment_writer_append(writer, &row, NULL), 0);
    }
    assert_int_equal(segment_writer_finish(writer, &file, NULL), 0);
    assert_int_equal(storage_publish(file, NULL), 0);
}

/* Files of version 0.1 are in order of offsets, and do not say where they end. */
TEST(test_files_of_version_0_1, const char *folder) {
    FREED_BY(world_end) struct merge_world world;
    world_begin(&world, folder);
    for (int i = 0; i < 3; i++) write_file(world.storage, 200 * i, 200 * i + 200, -1);
    struct chain_end chain = history_behind((struct archive_file){.hour = HOUR, .first = 400}, 600);
    chain = history_publish(folder, PARTITION, &chain, 699, HOUR).chain;
    history_publish(folder, PARTITION, &chain, 700, HOUR + 1);
    check_merge(&world, 0, 1, 0);
    check_rows(&world, (struct archive_file){.hour = HOUR, .first = 0, .end = 700}, 0, 700);
}

static void is_detailed(const struct merge_world *world, struct archive_file file, bool expected) {
    struct segment_reader *reader;
    assert_int_equal(segment_reader_open(world->storage, PARTITION, file, &reader, NULL), 0);
    assert_int_equal(segment_reader_detailed(reader), expected);
    segment_reader_free(reader);
}

/* Sinks of the release before read files without details, and no others. */
TEST(test_a_merged_file_is_of_the_version_that_its_rows_need, const char *folder) {
    FREED_BY(world_end) struct merge_world world;
    struct segment_published published = {.chain = {.some = false}};
    world_begin(&world, folder);
    for (int64_t offset = 0; offset < 5; offset++) { // two files an hour
        const struct chain_end chain = published.chain;
        struct history_row row = history_row_at(PARTITION, offset, (HOUR + offset / 2) * (int64_t)HISTORY_HOUR_MS);
        if (offset == 3) row.battery = 500;
        struct history_segment *segment = segment_new(&chain, &row);
        segment_append(segment, &row);
        assert_int_equal(segment_publish(segment, world.storage, &published, NULL), 0);
        is_detailed(&world, published.chain.file, offset == 3);
    }
    check_merge(&world, 0, 2, 0);
    is_detailed(&world, (struct archive_file){.hour = HOUR, .first = 0, .end = 2}, false);
    is_detailed(&world, (struct archive_file){.hour = HOUR + 1, .first = 2, .end = 4}, true);
}

/* One partition's damaged file keeps its hour from being merged, and no other. */
TEST(test_a_damaged_file, const char *folder) {
    FREED_BY(world_end) struct merge_world world;
    struct merge_done done;
    struct chain_end chain = history_publish(folder, PARTITION, NULL, 9999, HOUR).chain;
    FREED char *name = archive_path(PARTITION, chain.file), *path = mem_format("%s/%s", folder, name);
    chain = history_publish(folder, PARTITION, &chain, 10009, HOUR + 1).chain;
    history_publish(folder, PARTITION, &chain, 10019, HOUR + 2);
    chain = history_publish(folder, 8, NULL, 9, HOUR).chain;
    history_publish(folder, 8, &chain, 19, HOUR + 1);
    assert_int_equal(truncate(path, 50000), 0);
    world_begin(&world, folder);
    assert_fails(merge_after(&world, 0, &done, &failure), -EBADMSG, name);
    assert_int_equal(done.merged_files, 2);
    assert_int_equal(history_count_files(folder, ".tmp"), 0);
}

/* The second of three is missing, or ends behind the beginning of the third; it says so, or not (version 0.1). The merged file would
 * hide that. */
static void check_spoilt(const char *folder, int64_t until, int64_t end, const char *says) {
    FREED_BY(world_end) struct merge_world world;
    struct merge_done done;
    struct chain_end chain = history_publish(folder, PARTITION, NULL, 9, HOUR).chain;
    chain = history_publish(folder, PARTITION, &chain, 19, HOUR).chain;
    FREED char *second = archive_path(PARTITION, chain.file);
    chain = history_publish(folder, PARTITION, &chain, 29, HOUR).chain;
    history_publish(folder, PARTITION, &chain, 39, HOUR + 1);
    world_begin(&world, folder);
    assert_int_equal(storage_remove(world.storage, second, NULL), 0);
    if (until) write_file(world.storage, 10, until, end);
    assert_fails(merge_after(&world, 0, &done, &failure), -EBADMSG, says);
    assert_int_equal(done.merged_files, 0);
}

TEST(test_a_file_is_missing, const char *folder) {
    check_spoilt(folder, 0, 0, "ends at offset 10, but the next file begins at 20: one is missing");
}

TEST(test_files_overlap, const char *folder) {
    check_spoilt(folder, 24, 24, "ends at offset 24, but the next file begins at 20: they overlap");
}

TEST(test_files_of_version_0_1_overlap, const char *folder) {
    check_spoilt(folder, 24, -1, "ends at offset 24, but the next file begins at 20: they overlap");
}

/* Nobody else removes what is in the scratch: it is not told as if another sink had merged the hour. */
TEST(test_a_scratch_that_is_gone, const char *folder) {
    FREED_BY(world_end) struct merge_world world;
    struct merge_done done;
    struct chain_end chain = history_publish(folder, PARTITION, NULL, 0, HOUR).chain;
    for (int i = 1; i <= MERGE_FILES; i++) chain = history_publish(folder, PARTITION, &chain, i, HOUR).chain;
    history_publish(folder, PARTITION, &chain, MERGE_FILES + 1, HOUR + 1);
    world_begin(&world, folder);
    assert_int_equal(rmdir(world.scratch_folder), 0);
    assert_int_equal(merge_after(&world, 0, &done, &failure), -EIO);
    assert_int_equal(mkdir(world.scratch_folder, 0700), 0);
    // So is a file of it, which would else look like one that was merged and removed.
    struct merge_source source = {.storage = world.scratch, .file = {.end = INT64_MAX}, .ours = true};
    int64_t rows = 0;
    assert_int_equal(merge_rows(&source, 1, PARTITION, &world.stop, NULL, &rows, &failure), -EIO);
    source.ours = false;
    assert_int_equal(merge_rows(&source, 1, PARTITION, &world.stop, NULL, &rows, &failure), -ENOENT);
    check_merge(&world, 0, 1, 0);
}

TEST(test_stopped, const char *folder) {
    FREED_BY(world_end) struct merge_world world;
    struct merge_done done;
    struct chain_end chain = history_publish(folder, PARTITION, NULL, 9, HOUR).chain;
    history_publish(folder, PARTITION, &chain, 19, HOUR + 1);
    world_begin(&world, folder);
    world.stop = true;
    assert_int_equal(merge_after(&world, 0, &done, NULL), -ECANCELED);
    assert_int_equal(history_count_files(folder, ""), 2);
}
