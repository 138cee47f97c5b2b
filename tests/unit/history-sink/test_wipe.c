/* Rows of forgotten users leave files: against a table of all rows, with random files, users and times, killed and begun again anywhere,
 * while files are merged and added. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/chance.h"
#include "history-sink/merge.h"
#include "history-sink/wipe.h"
#include "unit/history-sink/world.h"
#include "unit/kit/kit.h"

enum { HOUR = 492541, PARTITION = 3, USERS = 12, OFFSETS = 20000, WIPED = 4 };

struct wipe_world {
    const char *folder;
    struct storage *storage, *scratch;
    atomic_bool stop;
    struct chance chance;
    struct chain_end chain;
    struct history_row *rows; /* [OFFSETS]; user -1: no row */
    struct wipe_user wiped[WIPED];
    size_t wiped_count;
};

static uint32_t below(struct wipe_world *world, uint32_t limit) { return chance_next(&world->chance) % limit; }

static void world_begin(struct wipe_world *world, const char *folder, uint64_t seed) {
    FREED char *scratch = mem_format("%s/scratch", folder);
    *world = (struct wipe_world){.folder = folder, .chance = {.state = seed}};
    assert_int_equal(mkdir(scratch, 0700), 0);
    world->storage = history_storage(folder);
    world->scratch = history_storage(scratch);
    world->rows = mem_zero(OFFSETS, sizeof *world->rows);
    for (int i = 0; i < OFFSETS; i++) world->rows[i].user = -1;
}

static void world_end(struct wipe_world *world) {
    storage_close(world->storage);
    storage_close(world->scratch);
    free(world->rows);
}

/* ---- what there is ---- */

static bool goes(const struct wipe_world *world, const struct history_row *row) {
    for (size_t i = 0; i < world->wiped_count; i++)
        if (world->wiped[i].user == row->user && row->received < world->wiped[i].before) return true;
    return false;
}

static void check_row(const struct history_row *row, const struct history_row *expected) {
    assert_true(row->user == expected->user && row->time == expected->time && row->received == expected->received);
    assert_true(row->lat == expected->lat && row->lng == expected->lng && row->accuracy == expected->accuracy);
}

/* A row of the table, and not of a user who is gone, if `clean`. */
static int64_t check_file(struct wipe_world *world, struct archive_file file, bool clean, uint8_t *seen) {
    struct segment_reader *reader;
    struct history_row row, before = {.user = -1};
    int code;
    assert_int_equal(segment_reader_open(world->storage, PARTITION, file, &reader, NULL), 0);
    while ((code = segment_reader_next(reader, &row, NULL)) > 0) {
        if (segment_reader_sorted(reader)) assert_true(segment_row_order(&before, &row) < 0);
        before = row;
        assert_true(row.offset < OFFSETS);
        check_row(&row, &world->rows[row.offset]);
        if (clean) assert_false(goes(world, &row));
        if (seen) seen[row.offset]++;
    }
    assert_int_equal(code, 0);
    int64_t end = segment_reader_end(reader);
    segment_reader_free(reader);
    return end;
}

/* At any moment: what readers see are the rows of all others, each once, in a chain without a gap. */
static void check_chain(struct wipe_world *world) {
    struct archive_wanted wanted = {.partition = PARTITION, .from = 0};
    FREED uint8_t *seen = mem_zero(OFFSETS, 1);
    int64_t next = 0;
    assert_int_equal(archive_scan(world->storage, &wanted, 1, false, NULL), 0);
    for (size_t i = 0; i < wanted.found.count; i++) {
        assert_int_equal(wanted.found.files[i].first, next);
        next = check_file(world, wanted.found.files[i], false, seen);
    }
    assert_int_equal(next, world->chain.end);
    for (int64_t i = 0; i < next; i++) {
        const struct history_row *row = &world->rows[i];
        assert_true(seen[i] <= 1);
        if (row->user >= 0 && !goes(world, row)) assert_int_equal(seen[i], 1);
    }
    archive_list_clear(&wanted.found);
}

/* After a pass: in no file at all, not even in those that are merged. */
static void check_gone(struct wipe_world *world) {
    struct archive_wanted wanted = {.partition = PARTITION};
    assert_int_equal(archive_scan_old(world->storage, INT64_MAX, &wanted, 1, false, NULL), 0);
    for (size_t i = 0; i < wanted.found.count; i++) check_file(world, wanted.found.files[i], true, NULL);
    archive_list_clear(&wanted.found);
    check_chain(world);
}

/* ---- what happens ---- */

/* Rows of a file of version 0.1, in the order of offsets. */
static void publish_old(struct wipe_world *world, int64_t end) {
    struct segment_writer *writer;
    struct storage_writer *file;
    struct archive_file its = {.hour = world->chain.file.hour, .first = world->chain.end};
    if (!world->chain.some || chain_closed(&world->chain)) its.hour = world->chain.some ? its.hour + 1 : HOUR;
    FREED char *path = archive_path(PARTITION, its);
    assert_int_equal(segment_writer_open(world->storage, path, -1, true, &writer, NULL), 0);
    for (int64_t i = its.first; i < end; i++)
        if (world->rows[i].user >= 0) assert_int_equal(segment_writer_append(writer, &world->rows[i], NULL), 0);
    assert_int_equal(segment_writer_finish(writer, &file, NULL), 0);
    assert_int_equal(storage_publish(file, NULL), 0);
    world->chain = history_behind(its, end);
}

/* A file of the next offsets. Rows of who is gone come no more, as a sink takes none. */
static void publish(struct wipe_world *world, bool old) {
    int64_t first = world->chain.end, end = first + 1 + below(world, 300), hour = HOUR + below(world, 2);
    struct history_segment *segment = NULL;
    if (world->chain.some) hour = world->chain.file.hour + (below(world, 4) == 0);
    if (end > OFFSETS) return;
    for (int64_t i = first; i < end; i++) {
        struct history_row row = history_row_at(PARTITION, i, hour * HISTORY_HOUR_MS + below(world, 1000));
        row.user = below(world, USERS);
        row.time -= below(world, 5000);
        bool none = i + 1 < end && i > first && below(world, 5) == 0; // such as QUIT
        if (none) continue;
        if (!segment && !old) segment = segment_new(&world->chain, &row);
        if (goes(world, &row)) {
            if (segment) segment_pass(segment, i);
            if (!old || i + 1 < end) continue;
            row.user = USERS; // nobody who ever goes: such a file ends with a row
        }
        world->rows[i] = row;
        if (segment) segment_append(segment, &row);
    }
    if (old) {
        publish_old(world, end);
        return;
    }
    struct segment_published published;
    assert_int_equal(segment_publish(segment, world->storage, &published, NULL), 0);
    world->chain = published.chain;
}

static void merge(struct wipe_world *world) {
    static const int32_t PARTITIONS[] = {PARTITION};
    struct merge_done done = {.merged_files = 0};
    struct error error = {.text = ""};
    int64_t later = below(world, 2) ? 0 : 100000; // small files that were merged are removed, or not yet
    int code = merge_round(&(struct merge_options){.storage = world->storage,
                                                   .scratch = world->scratch,
                                                   .stop = &world->stop,
                                                   .now_ms = clock_wall_ms() + later,
                                                   .keep_ms = 50000},
                           PARTITIONS, 1, &done, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(code, 0);
}

static int by_user(const void *a, const void *b) {
    const struct wipe_user *x = a, *y = b;
    return (x->user > y->user) - (x->user < y->user);
}

/* One more user is gone, or one again. */
static void forget(struct wipe_world *world) {
    struct wipe_user who = {.user = below(world, USERS),
                            .before = world->chain.file.hour * HISTORY_HOUR_MS + below(world, 1500)};
    for (size_t i = 0; i < world->wiped_count; i++) {
        if (world->wiped[i].user != who.user) continue;
        if (world->wiped[i].before < who.before) world->wiped[i].before = who.before;
        return;
    }
    if (world->wiped_count == WIPED) return;
    world->wiped[world->wiped_count++] = who;
    qsort(world->wiped, world->wiped_count, sizeof who, by_user);
}

/* Goes on with a pass by one file, or to its end. */
static int wipe(struct wipe_world *world, struct wipe_position *position, bool all) {
    struct wipe_done done = {.files = 0};
    struct error error = {.text = ""};
    const struct wipe_options options = {.storage = world->storage,
                                         .stop = &world->stop,
                                         .users = world->wiped,
                                         .count = world->wiped_count,
                                         .until_us = all ? INT64_MAX : 0};
    int code = wipe_files(&options, PARTITION, position, &done, &error);
    assert_string_equal(error.text, "");
    assert_true(code >= 0 && done.failures == 0);
    return code;
}

/* Files that a killed process leaves. */
static void leave_hidden(struct wipe_world *world) {
    struct segment_writer *writer;
    struct storage_writer *file;
    FREED char *path = archive_path(PARTITION, world->chain.file);
    assert_int_equal(segment_writer_open(world->storage, path, world->chain.end, true, &writer, NULL), 0);
    assert_int_equal(segment_writer_append(writer, &world->rows[world->chain.file.first], NULL), 0);
    assert_int_equal(segment_writer_finish(writer, &file, NULL), 0);
    struct archive_wanted wanted = {.partition = PARTITION, .from = 0};
    assert_int_equal(archive_scan(world->storage, &wanted, 1, true, NULL), 0); // the next owner sweeps
    assert_int_equal(storage_replace(file, NULL), -EEXIST);                    // and whoever wrote it fails
    archive_list_clear(&wanted.found);
}

static void one_history(struct wipe_world *world) {
    struct wipe_position position = {.merged = false};
    bool old = below(world, 3) == 0; // such files come before all others
    for (int i = 0; i < 5; i++) publish(world, old);
    for (int step = 0; step < 60; step++) {
        switch (below(world, 6)) {
        case 0: publish(world, false); break;
        case 1: merge(world); break;
        case 2:
            forget(world);
            position =
                (struct wipe_position){.merged = false}; // erasures that are learnt meanwhile are the next pass's
            break;
        case 3:
            position = (struct wipe_position){.merged = false}; // killed, and begun again
            if (below(world, 4) == 0) leave_hidden(world);
            break;
        default:
            if (wipe(world, &position, below(world, 8) == 0) == 0) {
                assert_false(position.unclean);
                check_gone(world);
                position = (struct wipe_position){.merged = false};
            }
        }
        check_chain(world);
    }
    while (wipe(world, &position, false) > 0) merge(world);
    check_gone(world);
}

SET_UP() { return kit_folder(); }

TEST(test_random_histories) {
    for (int i = 0; i < 6; i++) {
        FREED_BY(world_end) struct wipe_world world;
        world_begin(&world, kit_folder(), (uint64_t)i + 1);
        one_history(&world);
    }
}

/* A process of its own is killed while it replaces files: whoever looks then sees all others' rows, and the next one brings it to an end. */
TEST(test_killed, const char *folder) {
    struct wipe_world world;
    world_begin(&world, folder, 100);
    for (int i = 0; i < 25; i++) publish(&world, false);
    merge(&world);
    for (int kill_at = 0; kill_at < 20; kill_at++) {
        forget(&world);
        pid_t child = fork();
        if (child == 0) {
            struct wipe_position position = {.merged = false};
            wipe(&world, &position, true);
            _exit(0);
        }
        usleep(below(&world, 30000));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        check_chain(&world);
        publish(&world, false);
    }
    struct wipe_position position = {.merged = false};
    assert_int_equal(wipe(&world, &position, true), 0);
    check_gone(&world);
    world_end(&world);
}

/* All rows of a file go: it stays, empty, and covers what it did. */
TEST(test_a_file_becomes_empty, const char *folder) {
    FREED_BY(world_end) struct wipe_world world;
    world_begin(&world, folder, 100);
    for (int i = 0; i < 8; i++) publish(&world, i < 4);
    for (int64_t user = 0; user <= USERS; user++) {
        world.wiped[0] = (struct wipe_user){.user = user, .before = INT64_MAX};
        world.wiped_count = 1;
        struct wipe_position position = {.merged = false};
        assert_int_equal(wipe(&world, &position, true), 0);
        for (int64_t i = 0; i < OFFSETS; i++)
            if (world.rows[i].user == user) world.rows[i].user = -1;
        check_gone(&world);
    }
    merge(&world);
    check_gone(&world);
    publish(&world, false);
    check_chain(&world);
}

/* A file that cannot be read keeps no other from being done, and the pass is not clean. */
TEST(test_a_damaged_file, const char *folder) {
    FREED_BY(world_end) struct wipe_world world;
    struct error error = {.text = ""};
    struct wipe_done done = {.files = 0};
    struct wipe_position position = {.merged = false};
    world_begin(&world, folder, 100);
    struct chain_end chain = history_publish(folder, PARTITION, NULL, 9999, HOUR).chain;
    FREED char *name = archive_path(PARTITION, chain.file), *path = mem_format("%s/%s", folder, name);
    history_publish(folder, PARTITION, &chain, 10099, HOUR + 1);
    assert_int_equal(truncate(path, 50000), 0);
    world.wiped[0] = (struct wipe_user){.user = 96, .before = INT64_MAX};
    const struct wipe_options options = {
        .storage = world.storage, .stop = &world.stop, .users = world.wiped, .count = 1, .until_us = INT64_MAX};
    assert_int_equal(wipe_files(&options, PARTITION, &position, &done, &error), 0);
    assert_true(position.unclean);
    assert_int_equal(done.failures, 1);
    assert_int_equal(done.files, 1);
    assert_int_equal(done.rows, 1); // offset 10,087
    assert_non_null(strstr(error.text, name));
}

/* A killed process has left a part of a file hidden, in an hour that nobody looks into any more. */
TEST(test_hidden_files_of_old_hours_go, const char *folder) {
    FREED_BY(world_end) struct wipe_world world;
    struct storage_writer *old, *new;
    struct wipe_position position = {.merged = false};
    world_begin(&world, folder, 100);
    for (int i = 0; i < 12; i++) publish(&world, false);
    assert_true(world.chain.file.hour > HOUR + 1);
    FREED char *merged = archive_path(PARTITION, (struct archive_file){.hour = HOUR, .first = 0, .end = 77});
    char *newest =
        archive_path(PARTITION, (struct archive_file){.hour = world.chain.file.hour, .first = world.chain.end});
    assert_int_equal(storage_create(world.storage, merged, &old, NULL), 0);
    assert_int_equal(storage_create(world.storage, newest, &new, NULL), 0);
    forget(&world);
    assert_int_equal(wipe(&world, &position, true), 0);
    assert_int_equal(history_count_files(folder, ".tmp"), 1);
    assert_int_equal(storage_publish(old, NULL), -EEXIST);
    storage_abandon(new);
    check_gone(&world);
    free(newest);
}

TEST(test_stopped, const char *folder) {
    FREED_BY(world_end) struct wipe_world world;
    struct wipe_done done = {.files = 0};
    struct wipe_position position = {.merged = false};
    world_begin(&world, folder, 100);
    publish(&world, false);
    world.wiped[0] = (struct wipe_user){.user = world.rows[0].user, .before = INT64_MAX};
    world.stop = true;
    const struct wipe_options options = {
        .storage = world.storage, .stop = &world.stop, .users = world.wiped, .count = 1, .until_us = INT64_MAX};
    assert_int_equal(wipe_files(&options, PARTITION, &position, &done, NULL), -ECANCELED);
    assert_int_equal(done.files, 0);
    check_chain(&world);
    assert_int_equal(history_count_files(folder, ".tmp"), 0);
}
