/* What an edge writes of its sessions, as it stands in a compacted topic: whatever is lost on the way, the rows of the run that beats are the
 * sessions that there are, soon after. */
#include "fanout/devices/rows.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, BEAT_MS = 1000, SESSIONS = 40, RECORDS = 4000 };

struct written {
    struct device_key key;
    bool there;
};

struct world {
    struct device_rows rows;
    struct device_session sessions[SESSIONS];
    struct written topic[RECORDS];
    size_t count, beats, sent, room; /* room: records that are still taken */
    int64_t now, numbers;
    bool up;
    uint64_t seed;
};

static uint64_t chance(struct world *w, uint64_t below) { return hash_u64(w->seed++) % below; }

static bool same(const struct device_key *a, const struct device_key *b) {
    return a->user == b->user && a->run == b->run && a->session == b->session;
}

static void store(struct world *w, const struct device_key *key, bool there) {
    size_t i = 0;
    while (i < w->count && !same(&w->topic[i].key, key)) i++;
    assert_true(i < RECORDS);
    if (i == w->count) w->count++;
    w->topic[i] = (struct written){*key, there};
}

static int send_record(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                       size_t size, bool beat) {
    struct world *w = context;
    struct device_key read;
    assert_true(device_key_read(key, key_size, &read));
    assert_int_equal(beat, read.user < 0);
    assert_int_equal(beat, partition >= 0);
    if (!w->room) return -EAGAIN;
    w->room--;
    w->sent++;
    if (beat) w->beats++;
    store(w, &read, value != NULL);
    return 0;
}

static bool is_up(void *context) { return ((const struct world *)context)->up; }

static size_t rows_of_run(const struct world *w, int64_t run) {
    size_t count = 0;
    for (size_t i = 0; i < w->count; i++)
        count += w->topic[i].there && w->topic[i].key.user >= 0 && w->topic[i].key.run == run;
    return count;
}

static bool has_row(const struct world *w, const struct device_session *session, int64_t run) {
    const struct device_key key = {session->user, run, session->session};
    for (size_t i = 0; i < w->count; i++)
        if (w->topic[i].there && same(&w->topic[i].key, &key)) return true;
    return false;
}

static size_t open_sessions(const struct world *w) {
    size_t count = 0;
    for (size_t i = 0; i < SESSIONS; i++) count += w->sessions[i].link != NULL;
    return count;
}

/* The run's rows are the sessions, and no others. */
static void check(const struct world *w) {
    assert_int_equal(rows_of_run(w, w->rows.run), open_sessions(w));
    for (size_t i = 0; i < SESSIONS; i++)
        if (w->sessions[i].link) assert_true(has_row(w, &w->sessions[i], w->rows.run));
}

static void add(struct world *w, size_t i, const char *name) {
    device_rows_add(&w->rows, &w->sessions[i], (int64_t)(i % 7), ++w->numbers, name, w->now);
    device_rows_write(&w->rows);
}

static void beat(struct world *w, bool heard) {
    w->now += BEAT_MS;
    device_rows_beat(&w->rows, w->now, w->now);
    if (heard) device_rows_told(&w->rows, true, 0, w->now);
    while (w->room && device_rows_write(&w->rows)) continue;
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    w->room = SIZE_MAX;
    w->up = true;
    const struct device_rows_options options = {
        .partitions = PARTITIONS, .beat_ms = BEAT_MS, .context = w, .up = is_up, .send = send_record};
    device_rows_init(&w->rows, &options, 0, 0);
    return w;
}

TEAR_DOWN(struct world *w) {
    for (size_t i = 0; i < SESSIONS; i++) device_rows_remove(&w->rows, &w->sessions[i]);
    device_rows_free(&w->rows);
}

TEST(rows_come_and_go, struct world *w) {
    assert_int_equal(w->beats, PARTITIONS); /* before any row */
    add(w, 0, "a");
    add(w, 1, NULL);
    check(w);
    device_rows_remove(&w->rows, &w->sessions[0]);
    device_rows_remove(&w->rows, &w->sessions[0]); /* it is not there */
    check(w);
    int64_t run = w->rows.run;
    for (int i = 0; i < 10; i++) beat(w, true);
    assert_int_equal(w->rows.run, run);
    assert_int_equal(w->beats, 11 * PARTITIONS);
    assert_int_equal(w->sent, w->beats + 3);
}

TEST(a_row_that_finds_no_room_comes_later, struct world *w) {
    int64_t run = w->rows.run;
    w->room = 0;
    add(w, 0, "a");
    add(w, 1, "b");
    device_rows_remove(&w->rows, &w->sessions[1]); /* was never written: no tombstone is needed */
    w->room = SIZE_MAX;
    assert_false(device_rows_write(&w->rows));
    check(w);
    beat(w, true);
    assert_int_equal(w->rows.run, run);
}

TEST(what_is_lost_begins_a_new_run, struct world *w) {
    add(w, 0, "a");
    add(w, 1, "b");
    int64_t run = w->rows.run;
    w->room = 0;
    device_rows_remove(&w->rows, &w->sessions[1]);
    w->room = SIZE_MAX;
    w->up = false;
    beat(w, true);
    assert_int_equal(w->rows.run, run); /* a new run would be lost like the one before */
    w->up = true;
    beat(w, true);
    assert_int_not_equal(w->rows.run, run);
    check(w);
    run = w->rows.run;
    device_rows_told(&w->rows, false, 0, w->now);
    device_rows_told(&w->rows, true, -EIO, w->now); /* the next beat comes soon enough */
    beat(w, true);
    assert_int_equal(w->rows.run, run);
    device_rows_told(&w->rows, false, -EIO, w->now);
    beat(w, true);
    assert_int_not_equal(w->rows.run, run);
    check(w);
}

TEST(a_run_whose_beats_nobody_heard_is_over, struct world *w) {
    add(w, 0, "a");
    int64_t run = w->rows.run;
    beat(w, false);
    beat(w, false);
    assert_int_equal(w->rows.run, run);
    beat(w, true);
    assert_int_not_equal(w->rows.run, run);
    check(w);
    run = w->rows.run;
    w->now += 5 * (int64_t)BEAT_MS; /* the process stood still */
    beat(w, true);
    assert_int_not_equal(w->rows.run, run);
    check(w);
}

static void step(struct world *w) {
    size_t i = chance(w, SESSIONS);
    w->room = chance(w, 3) ? SIZE_MAX : chance(w, 4);
    switch (chance(w, 8)) {
    case 0: beat(w, chance(w, 2)); break;
    case 1: w->up = chance(w, 2); break;
    case 2:
        if (w->room) device_rows_write(&w->rows);
        break;
    default:
        if (w->sessions[i].link)
            device_rows_remove(&w->rows, &w->sessions[i]);
        else
            add(w, i, i % 2 ? "name" : NULL);
    }
}

TEST(whatever_happens_all_is_right_after_two_beats, struct world *w) {
    for (uint64_t history = 0; history < 200; history++) {
        w->seed = history << 32;
        w->count = 0; /* runs of before are silent */
        device_rows_told(&w->rows, false, -EIO, w->now);
        for (int i = 0; i < 60; i++) step(w);
        w->room = SIZE_MAX;
        w->up = true;
        device_rows_told(&w->rows, false, -EIO, w->now);
        beat(w, true);
        beat(w, true);
        check(w);
    }
}
