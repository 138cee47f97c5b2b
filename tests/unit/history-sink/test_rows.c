/* The store of rows: how keys sort, what ranges and pages give, and what survives a restart. */
#include "base/chance.h"
#include "history-sink/rows.h"
#include "unit/history-sink/world.h"
#include "unit/kit/kit.h"

static struct rows *open_rows(const char *folder) {
    struct rows *rows;
    FREED char *path = mem_format("%s/rows", folder);
    assert_int_equal(rows_open(path, 1 << 20, 1 << 20, &rows, NULL), 0);
    return rows;
}

SET_UP() { return kit_folder(); }

TEST(test_keys_sort_by_user_time_offset) {
    static const int64_t SORTED[][3] = {
        {0, 0, 0},         {0, 0, 1},   {0, 0, 256}, {0, 1, 0},
        {0, 255, 9},       {0, 256, 0}, {1, 0, 0},   {1, 1700000000000, 5},
        {1, INT64_MAX, 0}, {255, 0, 0}, {256, 0, 0}, {INT64_MAX, 0, 0},
    };
    for (size_t i = 1; i < sizeof SORTED / sizeof SORTED[0]; i++) {
        uint8_t a[ROWS_KEY_SIZE], b[ROWS_KEY_SIZE];
        rows_key(a, SORTED[i - 1][0], SORTED[i - 1][1], SORTED[i - 1][2]);
        rows_key(b, SORTED[i][0], SORTED[i][1], SORTED[i][2]);
        assert_true(memcmp(a, b, ROWS_KEY_SIZE) < 0);
    }
}

struct answer {
    struct history_row rows[512];
    size_t count;
};

static void gather(void *context, const struct history_row *row) {
    struct answer *answer = context;
    assert_true(answer->count < sizeof answer->rows / sizeof answer->rows[0]);
    answer->rows[answer->count++] = *row;
}

static struct history_row make_row(int64_t user, int64_t time, int64_t offset) {
    return (struct history_row){.user = user,
                                .lat = (int32_t)(offset * 31 - 900000000),
                                .lng = (int32_t)(-offset * 17),
                                .time = time,
                                .accuracy = (int32_t)(offset % 5) - 1,
                                .received = time + 77,
                                .partition = 3,
                                .offset = offset,
                                .battery = (int32_t)(offset % 3) - 1,
                                .charging = -1,
                                .speed = -1,
                                .course = (int32_t)(offset % 5) - 1,
                                .vertical_accuracy = -1,
                                .activity = offset % 7 ? -1 : 3};
}

static void check_row(const struct history_row *row, int64_t user, int64_t time, int64_t offset) {
    const struct history_row expected = make_row(user, time, offset);
    assert_true(row->user == user && row->time == time && row->offset == offset);
    assert_true(row->lat == expected.lat && row->lng == expected.lng);
    assert_true(row->accuracy == expected.accuracy && row->received == expected.received);
    assert_true(row->battery == expected.battery && row->charging == -1 && row->speed == -1);
    assert_true(row->course == expected.course && row->vertical_accuracy == -1 && row->activity == expected.activity);
}

/* Random rows of a few users with many equal times; every range, in pages of every size, against a sorted table. */
static int by_key(const void *a, const void *b) {
    const struct history_row *x = a, *y = b;
    if (x->user != y->user) return x->user < y->user ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void check_query(struct rows *rows, const struct history_row *table, size_t count, struct rows_query query) {
    struct answer answer = {.count = 0};
    size_t pages = 0, at = 0;
    bool more = true;
    for (; more; pages++) {
        size_t before = answer.count;
        assert_int_equal(rows_find(rows, &query, gather, &answer, &more, NULL), 0);
        assert_true(answer.count - before <= query.limit);
        if (more) assert_int_equal(answer.count - before, query.limit);
        if (!answer.count) break;
        query.resume = true;
        query.after_time = answer.rows[answer.count - 1].time;
        query.after_offset = answer.rows[answer.count - 1].offset;
    }
    for (size_t i = 0; i < count; i++) {
        if (table[i].user != query.user || table[i].time < query.from || table[i].time >= query.to) continue;
        assert_true(at < answer.count);
        check_row(&answer.rows[at++], table[i].user, table[i].time, table[i].offset);
    }
    assert_int_equal(at, answer.count);
}

TEST(test_ranges_and_pages, const char *folder) {
    enum { COUNT = 400, TIMES = 40 };
    struct rows *rows = open_rows(folder);
    struct history_row table[COUNT];
    uint64_t random = 7;
    for (int64_t i = 0; i < COUNT; i++) {
        random = hash_u64(random);
        table[i] = make_row((int64_t)(random % 5), 1000 + (int64_t)(random / 8 % TIMES), i);
        rows_put(rows, &table[i]);
        if (i % 7 == 0) rows_put(rows, &table[i / 2]); // written again: the same key
        if (i % 50 == 0) assert_int_equal(rows_write(rows, NULL), 0);
    }
    assert_true(rows_waiting(rows) > 0);
    assert_int_equal(rows_write(rows, NULL), 0);
    assert_int_equal(rows_waiting(rows), 0);
    qsort(table, COUNT, sizeof table[0], by_key);
    for (int i = 0; i < 2000; i++) {
        random = hash_u64(random);
        int64_t from = 995 + (int64_t)(random % 50), to = 995 + (int64_t)(random / 50 % 50);
        size_t limit = 1 + random / 2500 % 20;
        check_query(rows, table, COUNT,
                    (struct rows_query){.user = (int64_t)(random / 50000 % 6), .from = from, .to = to, .limit = limit});
    }
    check_query(rows, table, COUNT, (struct rows_query){.user = 2, .from = 0, .to = INT64_MAX, .limit = 1000});
    rows_close(rows);
}

/* A cursor from before the range does not widen it. */
TEST(test_a_cursor_outside_the_range, const char *folder) {
    struct rows *rows = open_rows(folder);
    struct answer answer = {.count = 0};
    bool more;
    for (int64_t i = 0; i < 10; i++) {
        struct history_row row = make_row(1, i * 10, i);
        rows_put(rows, &row);
    }
    assert_int_equal(rows_write(rows, NULL), 0);
    struct rows_query query = {.user = 1, .from = 50, .to = 80, .resume = true, .after_time = 20, .limit = 100};
    assert_int_equal(rows_find(rows, &query, gather, &answer, &more, NULL), 0);
    assert_int_equal(answer.count, 3);
    assert_int_equal(answer.rows[0].time, 50);
    query.after_time = 90;
    assert_int_equal(rows_find(rows, &query, gather, &answer, &more, NULL), 0);
    assert_int_equal(answer.count, 3);
    rows_close(rows);
}

/* An outside producer may write a time before 1970; it must not end up in everybody's answer. */
TEST(test_times_below_zero_are_not_found, const char *folder) {
    struct rows *rows = open_rows(folder);
    struct answer answer = {.count = 0};
    bool more;
    struct history_row row = make_row(1, -5, 0);
    rows_put(rows, &row);
    row = make_row(1, 5, 1);
    rows_put(rows, &row);
    assert_int_equal(rows_write(rows, NULL), 0);
    const struct rows_query query = {.user = 1, .from = 0, .to = INT64_MAX, .limit = 100};
    assert_int_equal(rows_find(rows, &query, gather, &answer, &more, NULL), 0);
    assert_int_equal(answer.count, 1);
    assert_false(more);
    rows_close(rows);
}

TEST(test_old_rows_expire, const char *folder) {
    struct rows *rows = open_rows(folder);
    bool more;
    for (int64_t user = 0; user < 25; user++) {
        for (int64_t i = 0; i < 20; i++) {
            struct history_row row = make_row(user == 24 ? INT64_MAX : user * user, 10 * i, 100 * user + i);
            if (user != 7 || i >= 10) rows_put(rows, &row); // one has nothing old
        }
    }
    assert_int_equal(rows_write(rows, NULL), 0);
    int64_t user = 0;
    int slices = 0;
    while (rows_expire(rows, 95, 4, &user, NULL) > 0) slices++;
    assert_in_range(slices, 5, 7);
    for (int64_t u = 0; u < 25; u++) {
        struct answer answer = {.count = 0};
        const struct rows_query query = {.user = u == 24 ? INT64_MAX : u * u, .to = INT64_MAX, .limit = 100};
        assert_int_equal(rows_find(rows, &query, gather, &answer, &more, NULL), 0);
        assert_int_equal(answer.count, 10);
        assert_int_equal(answer.rows[0].time, 100);
    }
    user = 0;
    assert_int_equal(rows_expire(rows, INT64_MAX, 1000, &user, NULL), 0);
    struct answer answer = {.count = 0};
    const struct rows_query all = {.user = 4, .to = INT64_MAX, .limit = 100};
    assert_int_equal(rows_find(rows, &all, gather, &answer, &more, NULL), 0);
    assert_int_equal(answer.count, 0);
    user = 0;
    assert_int_equal(rows_expire(rows, INT64_MAX, 1000, &user, NULL), 0); // nothing is left
    rows_close(rows);
}

static void check_kept(struct rows *rows, const struct history_row *table, size_t count, int64_t user) {
    struct answer answer = {.count = 0};
    size_t kept = 0;
    bool more = true;
    const struct rows_query all = {.user = user, .to = INT64_MAX, .limit = 512};
    assert_int_equal(rows_find(rows, &all, gather, &answer, &more, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        if (table[i].user != user) continue;
        assert_true(kept < answer.count);
        assert_true(answer.rows[kept].offset == table[i].offset && answer.rows[kept].received == table[i].received);
        kept++;
    }
    assert_int_equal(answer.count, kept);
}

/* Random rows of a few users, times and arrivals in no relation; some users go up to some arrival, in steps of any size. */
TEST(test_rows_of_who_is_forgotten_go, const char *folder) {
    enum { ROWS = 900, USERS = 5, TURNS = 25 };
    static struct history_row table[ROWS];
    struct chance chance = {.state = 7};
    struct rows *rows = open_rows(folder);
    size_t count = ROWS;
    for (int i = 0; i < ROWS; i++) {
        table[i] = make_row(chance_next(&chance) % USERS, chance_next(&chance) % 300, i);
        table[i].received = chance_next(&chance) % 1000;
        rows_put(rows, &table[i]);
    }
    assert_int_equal(rows_write(rows, NULL), 0);
    qsort(table, count, sizeof *table, by_key);
    for (int turn = 0; turn < TURNS; turn++) {
        int64_t user = chance_next(&chance) % USERS, before = chance_next(&chance) % (40 * (turn + 1)), gone = 0;
        struct rows_place at = {.time = 0, .offset = 0};
        size_t kept = 0, limit = 1 + chance_next(&chance) % 60;
        while (rows_wipe(rows, user, before, limit, &at, &gone, NULL) > 0) {}
        for (size_t i = 0; i < count; i++)
            if (table[i].user != user || table[i].received >= before) table[kept++] = table[i];
        assert_int_equal(gone, count - kept);
        count = kept;
        for (int64_t u = 0; u < USERS; u++) check_kept(rows, table, count, u);
    }
    assert_true(count < ROWS / 2);
    rows_close(rows);
}

TEST(test_marks_of_erasures_survive, const char *folder) {
    struct rows_wiped mark = {.store = 9, .files = 9};
    struct rows *rows = open_rows(folder);
    assert_int_equal(rows_wiped_mark(rows, 3, &mark, NULL), 0);
    assert_true(mark.store == 0 && mark.files == 0);
    assert_int_equal(rows_put_wiped_mark(rows, 3, (struct rows_wiped){.store = 5, .files = 4}, NULL), 0);
    rows_close(rows);
    rows = open_rows(folder);
    assert_int_equal(rows_wiped_mark(rows, 3, &mark, NULL), 0);
    assert_true(mark.store == 5 && mark.files == 4);
    rows_close(rows);
}

static void check_mark(struct rows *rows, int32_t partition, int64_t next) {
    int64_t found;
    assert_int_equal(rows_mark(rows, partition, &found, NULL), 0);
    assert_int_equal(found, next);
}

TEST(test_marks_survive, const char *folder) {
    struct rows *rows = open_rows(folder);
    check_mark(rows, 3, 0);
    rows_put_mark(rows, 3, 100);
    rows_put_mark(rows, 300, 7);
    check_mark(rows, 3, 0); // not written yet
    assert_int_equal(rows_write(rows, NULL), 0);
    rows_close(rows);
    rows = open_rows(folder);
    check_mark(rows, 3, 100);
    check_mark(rows, 300, 7);
    check_mark(rows, 4, 0);
    rows_close(rows);
    rows_close(NULL);
}
