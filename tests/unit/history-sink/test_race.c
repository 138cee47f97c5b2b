/* Several processes that all believe to own one partition, some killed with -9 on the way, publish small files, close hours, merge them and
 * remove what is merged: every row is there exactly once, at the end and at any moment, and the files follow each other without a gap. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "history-sink/merge.h"
#include "unit/history-sink/world.h"
#include "unit/kit/kit.h"

enum {
    PARTITION = 2,
    OWNERS = 3,
    LOG_END = 1200,      /* the log: offsets 0 to LOG_END - 1, the last one a row */
    STEP_MS = 30 * 1000, /* between two records */
    START_HOUR = 492541,
    KILLS = 25,
    ROUNDS = 6,
    DUELS = 100,
    DUELLISTS = 4,
};

/* What the owners tell the test: memory that they share. */
struct told {
    atomic_int races, links_lost, files, merged, removed;
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
    struct storage *storage, *scratch;
    uint64_t seed; /* of the log */
    uint64_t random;
    struct told *told;
    struct history_segment *open;
    struct chain_end chain; /* as it knows it */
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
    int code;
    do { // again, if the file has been merged and removed since
        archive_list_clear(&wanted.found);
        owner_check(archive_scan(owner->storage, &wanted, 1, true, &failure), "scan", &failure);
        owner->chain = (struct chain_end){.some = wanted.found.count > 0};
        if (!owner->chain.some) break;
        owner->chain.file = wanted.found.files[0];
        code = segment_measure(owner->storage, PARTITION, owner->chain.file, &owner->chain.end, &failure);
    } while (code == -ENOENT);
    if (owner->chain.some) owner_check(code, "measure", &failure);
    archive_list_clear(&wanted.found);
}

/* As if the last hour were long over: a closed one is merged, and what has been merged goes at once, or never. */
static void owner_merge(struct owner *owner) {
    static const int32_t PARTITIONS[] = {PARTITION};
    static const atomic_bool NEVER;
    struct merge_done done = {.merged_files = 0};
    const struct merge_options options = {
        .storage = owner->storage,
        .scratch = owner->scratch,
        .stop = &NEVER,
        .now_ms = INT64_MAX / 2,
        .keep_ms = owner_random(owner, 2) ? 0 : INT64_MAX / 2,
    };
    owner_check(merge_round(&options, PARTITIONS, 1, &done, &failure), "merge", &failure);
    atomic_fetch_add(&owner->told->merged, (int)done.merged_files);
    atomic_fetch_add(&owner->told->removed, (int)done.removed_files);
}

/* false: another one was faster. */
static bool owner_publish(struct owner *owner) {
    struct segment_published published;
    if (!owner->open) return true;
    int code = segment_publish(owner->open, owner->storage, &published, &failure);
    owner->open = NULL;
    if (code == -EEXIST) {
        atomic_fetch_add(&owner->told->races, 1);
        return false;
    }
    owner_check(code, "publish", &failure);
    atomic_fetch_add(&owner->told->files, 1);
    owner->chain = published.chain;
    return true;
}

static bool owner_take(struct owner *owner, int64_t offset) {
    struct history_row row = history_row_at(PARTITION, offset, received(owner->seed, offset));
    if (owner->open && !segment_takes(owner->open, row.received) && !owner_publish(owner)) return false;
    if (!owner->open) owner->open = segment_new(&owner->chain, &row);
    segment_append(owner->open, &row);
    return true;
}

/* As if nothing more could arrive in this hour. */
static bool owner_close_hour(struct owner *owner) {
    if (!owner_publish(owner)) return false;
    if (!owner->chain.some || chain_closed(&owner->chain)) return true;
    owner->open = segment_closing(PARTITION, &owner->chain);
    return owner_publish(owner);
}

/* Until the whole log is in files. */
static void owner_run(struct owner *owner) {
    for (;;) {
        owner_look(owner);
        if (owner->chain.end == LOG_END) break;
        bool mine = true;
        uint64_t roll = 1 + owner_random(owner, 60), sleepy = 5 + owner_random(owner, 100);
        for (int64_t offset = owner->chain.end; mine && offset < LOG_END; offset++) {
            if (owner_random(owner, sleepy) == 0) usleep((useconds_t)owner_random(owner, 3000));
            if (is_row(owner->seed, offset)) mine = owner_take(owner, offset);
            if (mine && owner_random(owner, roll) == 0) mine = owner_publish(owner);
            if (mine && owner_random(owner, 60) == 0) mine = owner_close_hour(owner);
            if (owner_random(owner, 60) == 0) owner_merge(owner);
        }
        if (mine) owner_publish(owner);
        segment_drop(owner->open);
        owner->open = NULL;
    }
    owner_merge(owner);
    _exit(0);
}

static pid_t owner_start(const char *folder, uint64_t seed, uint64_t random, struct told *told) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char *scratch = mem_format("%s/scratch-%d", folder, (int)getpid());
    if (mkdir(scratch, 0700)) _exit(5);
    struct owner owner = {.storage = history_storage(folder),
                          .scratch = history_storage(scratch),
                          .seed = seed,
                          .random = random,
                          .told = told};
    owner_run(&owner);
    _exit(4);
}

/* ---- the verdict ---- */

/* The rows of one file, by offset. */
static void collect(struct storage *storage, const struct archive_file *file, uint64_t seed, bool seen[LOG_END]) {
    struct segment_reader *reader;
    struct history_row row, before = {.user = -1};
    assert_int_equal(segment_reader_open(storage, PARTITION, *file, &reader, NULL), 0);
    while (segment_reader_next(reader, &row, NULL) > 0) {
        assert_true(row.offset < LOG_END && !seen[row.offset] && is_row(seed, row.offset));
        assert_true(segment_row_order(&before, &row) < 0);
        seen[row.offset] = true;
        before = row;
        const struct history_row expected = history_row_at(PARTITION, row.offset, received(seed, row.offset));
        assert_true(row.user == expected.user && row.received == expected.received && row.time == expected.time);
        // In its own hour, or in the one that the clock stepped back from, or behind those that were closed too early.
        assert_true(file->hour >= archive_hour_of(row.received));
    }
    segment_reader_free(reader);
}

static void check_files(const char *folder, uint64_t seed) {
    static bool seen[LOG_END];
    struct storage *storage = history_storage(folder);
    struct archive_wanted wanted = {.partition = PARTITION, .from = 0};
    int64_t hour = 0, end = 0;
    memset(seen, 0, sizeof seen);
    assert_int_equal(archive_scan(storage, &wanted, 1, false, NULL), 0);
    for (size_t i = 0; i < wanted.found.count; i++) {
        const struct archive_file *file = &wanted.found.files[i];
        assert_int_equal(file->first, end);
        assert_true(file->hour >= hour);
        hour = file->hour;
        assert_int_equal(segment_measure(storage, PARTITION, *file, &end, NULL), 0);
        collect(storage, file, seed, seen);
    }
    assert_int_equal(end, LOG_END);
    for (int64_t offset = 0; offset < LOG_END; offset++) assert_int_equal(seen[offset], is_row(seed, offset));
    archive_list_clear(&wanted.found);
    storage_close(storage);
}

/* A reader finds a chain without gaps meanwhile, and no row is in it twice. */
static void read_meanwhile(const char *folder) {
    static bool seen[LOG_END];
    struct storage *storage = history_storage(folder);
    struct archive_wanted wanted = {.partition = PARTITION, .from = 0};
    bool again;
    do {
        struct segment_reader *reader = NULL;
        int64_t end = 0;
        again = false;
        memset(seen, 0, sizeof seen);
        archive_list_clear(&wanted.found);
        assert_int_equal(archive_scan(storage, &wanted, 1, false, NULL), 0);
        for (size_t i = 0; i < wanted.found.count && !again; i++) {
            const struct archive_file *file = &wanted.found.files[i];
            assert_int_equal(file->first, end);
            int code = segment_reader_open(storage, PARTITION, *file, &reader, NULL);
            again = code == -ENOENT;
            if (again) break;
            assert_int_equal(code, 0);
            end = segment_reader_end(reader);
            struct history_row row;
            while (segment_reader_next(reader, &row, NULL) > 0) {
                assert_false(seen[row.offset]);
                seen[row.offset] = true;
            }
            segment_reader_free(reader);
        }
    } while (again);
    archive_list_clear(&wanted.found);
    storage_close(storage);
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
        read_meanwhile(folder);
    }
    for (int i = 0; i < OWNERS; i++) {
        int status;
        assert_int_equal(waitpid(owners[i], &status, 0), owners[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    check_files(folder, seed);
}

TEST(test_owners_race) {
    struct told *told = told_new();
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        char *folder = kit_folder();
        race(folder, seed, told);
        kit_remove(folder);
    }
    // Without races this test would show nothing.
    print_message("%d files published, %d races lost, %d hours merged, %d files removed\n", told->files, told->races,
                  told->merged, told->removed);
    assert_true(told->races > 10 * ROUNDS);
    assert_true(told->merged > ROUNDS && told->removed > ROUNDS);
    munmap(told, sizeof *told);
}

/* All at the same moment, from the same file, with different ends: one gets through. */
static void duellist(const char *folder, const struct chain_end *before, int rows, struct told *told) {
    struct history_segment *segment = NULL;
    struct storage *storage = history_storage(folder);
    struct segment_published published;
    struct error error = {.text = ""};
    for (int i = 0; i < rows; i++) {
        struct history_row row = history_row_at(PARTITION, before->end + i, START_HOUR * (int64_t)HISTORY_HOUR_MS);
        if (i == 0) segment = segment_new(before, &row);
        segment_append(segment, &row);
    }
    atomic_fetch_add(&told->ready, 1);
    while (!atomic_load(&told->go)) usleep(50);
    int code = segment_publish(segment, storage, &published, &error);
    if (code == 0)
        atomic_fetch_add(&told->won, rows);
    else if (code != -EEXIST)
        owner_check(code, "publish", &error);
    else if (strstr(error.text, strerror(EEXIST)))
        atomic_fetch_add(&told->links_lost, 1);
    _exit(0);
}

SET_UP() { return kit_folder(); }

TEST(test_duels, const char *folder) {
    struct told *told = told_new();
    struct chain_end before = {.some = false};
    for (int duel = 0; duel < DUELS; duel++) {
        pid_t children[DUELLISTS];
        told->ready = told->go = told->won = 0;
        for (int i = 0; i < DUELLISTS; i++) {
            children[i] = fork();
            assert_true(children[i] >= 0);
            if (!children[i]) duellist(folder, &before, i + 1, told);
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
        assert_int_equal(history_count_files(folder, ".avro"), duel + 1);
        assert_int_equal(history_count_files(folder, ".tmp"), 0);
        before = (struct chain_end){
            .some = true, .file = {.hour = START_HOUR, .first = before.end}, .end = before.end + told->won};
    }
    print_message("%d duels, %d were decided by link(2)\n", DUELS, told->links_lost);
    assert_true(told->links_lost > 0);
    munmap(told, sizeof *told);
}
