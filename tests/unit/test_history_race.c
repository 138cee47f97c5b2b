/* Several processes that all believe to own one partition, some killed with -9 on the way: every row is in exactly one file,
 * and the files follow each other without a gap. */
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
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "history_world.h"

enum {
    PARTITION = 2,
    OWNERS = 3,
    LOG_END = 1200,      /* the log: offsets 0 to LOG_END - 1, the last one a row */
    STEP_MS = 30 * 1000, /* between two records */
    START_HOUR = 492541,
    KILLS = 25,
    ROUNDS = 8,
    DUELS = 100,
    DUELLISTS = 4,
};

/* What the owners tell the test: memory that they share. */
struct told {
    atomic_int races, links_lost, files;
    atomic_int ready, go; /* duels */
    atomic_int won;
};

static struct told *told_new(void) {
    struct told *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(told != MAP_FAILED);
    return told;
}

/* ---- the log that everybody reads ---- */

static bool is_row(uint64_t seed, int64_t offset) {
    return offset == LOG_END - 1 || hash_u64(seed ^ (uint64_t)offset) % 4 != 0;
}

/* The broker's clock: rising, but for steps back of half an hour, often over the end of one. */
static int64_t received(uint64_t seed, int64_t offset) {
    int64_t at = START_HOUR * (int64_t)HISTORY_HOUR_MS + offset * STEP_MS;
    return hash_u64(seed + 1 + (uint64_t)(offset / 20)) % 2 ? at - 30 * 60000 : at;
}

/* ---- an owner, in a process of its own ---- */

struct owner {
    const char *folder;
    uint64_t seed; /* of the log */
    uint64_t random;
    struct told *told;
    struct history_segment *open;
    bool has_newest;
    struct archive_file newest;
    int64_t end; /* of the chain, as it knows it */
};

static uint64_t owner_random(struct owner *owner, uint64_t below) {
    owner->random = hash_u64(owner->random);
    return owner->random % below;
}

static void owner_check(int code, const char *doing, const struct error *error) {
    if (code >= 0) return;
    fprintf(stderr, "%s: %s\n", doing, error->text);
    _exit(3);
}

static void owner_look(struct owner *owner) {
    struct archive_wanted wanted = {.partition = PARTITION, .from = INT64_MAX};
    struct segment_reader *reader;
    struct history_row row;
    struct error error = {.text = ""};
    owner_check(archive_scan(owner->folder, &wanted, 1, true, &error), "scan", &error);
    owner->end = 0;
    owner->has_newest = wanted.found.count > 0;
    if (owner->has_newest) {
        owner->newest = wanted.found.files[0];
        owner_check(segment_reader_open(owner->folder, PARTITION, owner->newest, &reader, &error), "open", &error);
        int code;
        while ((code = segment_reader_next(reader, &row, &error)) > 0) {}
        owner_check(code, "read", &error);
        owner->end = segment_reader_last(reader) + 1;
        segment_reader_free(reader);
    }
    archive_list_clear(&wanted.found);
}

/* false: another one was faster. */
static bool owner_publish(struct owner *owner) {
    struct segment_published published;
    struct error error = {.text = ""};
    if (!owner->open) return true;
    int code = segment_publish(owner->open, &published, &error);
    owner->open = NULL;
    if (code == -EEXIST) {
        atomic_fetch_add(&owner->told->races, 1);
        return false;
    }
    owner_check(code, "publish", &error);
    atomic_fetch_add(&owner->told->files, 1);
    owner->has_newest = true;
    owner->newest = published.file;
    owner->end = published.last + 1;
    return true;
}

static bool owner_take(struct owner *owner, int64_t offset) {
    struct history_row row = history_row_at(PARTITION, offset, received(owner->seed, offset));
    struct error error = {.text = ""};
    if (owner->open && !segment_takes(owner->open, row.received) && !owner_publish(owner)) return false;
    if (!owner->open)
        owner_check(segment_open(owner->folder, owner->has_newest ? &owner->newest : NULL, owner->end, &row,
                                 &owner->open, &error),
                    "open", &error);
    owner_check(segment_append(owner->open, &row, &error), "append", &error);
    return true;
}

/* Until the whole log is in files. */
static void owner_run(struct owner *owner) {
    for (;;) {
        owner_look(owner);
        if (owner->end == LOG_END) _exit(0);
        bool mine = true;
        uint64_t roll = 1 + owner_random(owner, 60), sleepy = 5 + owner_random(owner, 100);
        for (int64_t offset = owner->end; mine && offset < LOG_END; offset++) {
            if (owner_random(owner, sleepy) == 0) usleep((useconds_t)owner_random(owner, 3000));
            if (is_row(owner->seed, offset)) mine = owner_take(owner, offset);
            if (mine && owner_random(owner, roll) == 0) mine = owner_publish(owner);
        }
        if (mine) owner_publish(owner);
    }
}

static pid_t owner_start(const char *folder, uint64_t seed, uint64_t random, struct told *told) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct owner owner = {.folder = folder, .seed = seed, .random = random, .told = told};
    owner_run(&owner);
    _exit(4);
}

/* ---- the verdict ---- */

static void check_files(const char *folder, uint64_t seed) {
    struct archive_wanted wanted = {.partition = PARTITION, .from = 0};
    struct history_row row;
    int64_t next = 0, hour = 0, end = 0;
    assert_int_equal(archive_scan(folder, &wanted, 1, false, NULL), 0);
    for (size_t i = 0; i < wanted.found.count; i++) {
        struct segment_reader *reader;
        const struct archive_file file = wanted.found.files[i];
        assert_int_equal(file.first, end);
        assert_true(file.hour >= hour);
        hour = file.hour;
        assert_int_equal(segment_reader_open(folder, PARTITION, file, &reader, NULL), 0);
        while (segment_reader_next(reader, &row, NULL) > 0) {
            while (next < row.offset) assert_false(is_row(seed, next++));
            assert_true(is_row(seed, row.offset));
            const struct history_row expected = history_row_at(PARTITION, row.offset, received(seed, row.offset));
            assert_true(row.user == expected.user && row.received == expected.received && row.time == expected.time);
            // In its own hour, or in the one that the clock stepped back from.
            assert_in_range(file.hour - archive_hour_of(row.received), 0, 1);
            next = row.offset + 1;
        }
        end = segment_reader_last(reader) + 1;
        segment_reader_free(reader);
    }
    assert_int_equal(end, LOG_END);
    assert_int_equal(history_count_files(folder, ".avro"), wanted.found.count);
    archive_list_clear(&wanted.found);
}

static void race(const char *folder, uint64_t seed, struct told *told) {
    pid_t owners[OWNERS];
    uint64_t random = hash_u64(seed);
    for (int i = 0; i < OWNERS; i++) owners[i] = owner_start(folder, seed, random + (uint64_t)i, told);
    for (int i = 0; i < KILLS; i++) {
        random = hash_u64(random);
        usleep((useconds_t)(random % 10000));
        int victim = (int)(random / 10000 % OWNERS), status;
        kill(owners[victim], SIGKILL);
        assert_int_equal(waitpid(owners[victim], &status, 0), owners[victim]);
        assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        owners[victim] = owner_start(folder, seed, random, told);
    }
    for (int i = 0; i < OWNERS; i++) {
        int status;
        assert_int_equal(waitpid(owners[i], &status, 0), owners[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    check_files(folder, seed);
}

static void test_owners_race(void **state) {
    struct told *told = told_new();
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        void *folder;
        assert_int_equal(history_make_folder(&folder), 0);
        race(folder, seed, told);
        assert_int_equal(history_remove_folder(&folder), 0);
    }
    // Without races this test would show nothing.
    print_message("%d files published, %d races lost\n", told->files, told->races);
    assert_true(told->races > 10 * ROUNDS);
    munmap(told, sizeof *told);
}

/* All at the same moment, from the same file, with different ends: one gets through. */
static void duellist(const char *folder, const struct archive_file *before, int64_t first, int rows,
                     struct told *told) {
    struct history_segment *segment;
    struct segment_published published;
    struct error error = {.text = ""};
    for (int i = 0; i < rows; i++) {
        struct history_row row = history_row_at(PARTITION, first + i, START_HOUR * (int64_t)HISTORY_HOUR_MS);
        if (i == 0) owner_check(segment_open(folder, before, first, &row, &segment, &error), "open", &error);
        owner_check(segment_append(segment, &row, &error), "append", &error);
    }
    atomic_fetch_add(&told->ready, 1);
    while (!atomic_load(&told->go)) usleep(50);
    int code = segment_publish(segment, &published, &error);
    if (code == 0)
        atomic_fetch_add(&told->won, rows);
    else if (code != -EEXIST)
        owner_check(code, "publish", &error);
    else if (strstr(error.text, strerror(EEXIST)))
        atomic_fetch_add(&told->links_lost, 1);
    _exit(0);
}

static void test_duels(void **state) {
    struct told *told = told_new();
    struct archive_file before = {.hour = 0, .first = 0};
    int64_t end = 0;
    for (int duel = 0; duel < DUELS; duel++) {
        pid_t children[DUELLISTS];
        told->ready = told->go = told->won = 0;
        for (int i = 0; i < DUELLISTS; i++) {
            children[i] = fork();
            assert_true(children[i] >= 0);
            if (!children[i]) duellist(*state, duel ? &before : NULL, end, i + 1, told);
        }
        while (told->ready < DUELLISTS) usleep(50);
        told->go = 1;
        for (int i = 0; i < DUELLISTS; i++) {
            int status;
            assert_int_equal(waitpid(children[i], &status, 0), children[i]);
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), 0);
        }
        assert_in_range(told->won, 1, DUELLISTS); // rows of the one winner; two would rarely add up to so few
        assert_int_equal(history_count_files(*state, ".avro"), duel + 1);
        assert_int_equal(history_count_files(*state, ".tmp"), 0);
        before = (struct archive_file){.hour = START_HOUR, .first = end};
        end += told->won;
    }
    print_message("%d duels, %d were decided by link(2)\n", DUELS, told->links_lost);
    assert_true(told->links_lost > 0);
    munmap(told, sizeof *told);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_owners_race),
        cmocka_unit_test_setup_teardown(test_duels, history_make_folder, history_remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
