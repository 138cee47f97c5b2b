/* Tests strangers.c and cells.c. What strangers are told: random histories against brute force, and against the promises: no place is
 * told before its delay, a router that reads the reports again tells the same, moves within a cell and who asks change nothing, and a
 * crowd costs no more than it may. */
#include "router/strangers.h"
#include "unit/kit/kit.h"

enum { USERS = 40, INACTIVE = 600000, DELAY = 60000, STEPS = 6000, PRECISION = 5, ROOM = 200 };
#define CELL_E7 439453 /* of the grid of that precision, in both directions */

static const struct geo_point HOME = {525200000, 134050000};

static struct geo_point beside(double north, double east) { /* in cells */
    return (struct geo_point){HOME.lat + (int32_t)(north * CELL_E7), HOME.lng + (int32_t)(east * CELL_E7)};
}

static struct strangers *make(int64_t delay_ms) {
    struct strangers_options options = {
        .precision = PRECISION, .delay_ms = delay_ms, .inactive_ms = INACTIVE, .key = "sixteen bytes..."};
    return strangers_new(&options);
}

static bool nobody(void *context, int64_t user) { return false; }

static size_t ask(const struct strangers *strangers, int64_t user, struct geo_point at, int64_t now,
                  struct stranger list[ROOM]) {
    struct strangers_question question = {.user = user, .at = at, .now_ms = now, .max = ROOM, .hidden = nobody};
    return strangers_list(strangers, &question, list);
}

/* The cell where a user is told to be; GRID_NOWHERE: not listed around there. */
static uint64_t told_of(const struct strangers *strangers, int64_t user, struct geo_point about, int64_t now) {
    struct stranger list[ROOM];
    size_t count = ask(strangers, 999, about, now, list);
    for (size_t i = 0; i < count; i++) {
        if (list[i].user == user) return grid_cell(strangers_grid(strangers), list[i].at);
    }
    return GRID_NOWHERE;
}

/* ---- lists against brute force ---- */

struct truth {
    bool public, placed;
    struct geo_point at;
    int64_t time;
    uint64_t told;
};

static uint64_t random_number;
static int chance(int below) { return (int)(hash_u64(random_number++) % (uint64_t)below); }
static struct geo_point some_place(void) { return beside(chance(4000) / 1000.0 - 2, chance(4000) / 1000.0 - 2); }

static void report(struct strangers *strangers, struct truth *truth, int user, int64_t now) {
    const struct grid *grid = strangers_grid(strangers);
    struct geo_point at = some_place();
    strangers_place(strangers, user, at, now, now);
    if (!truth->public) return;
    if (!truth->placed || now - truth->time >= INACTIVE) truth->told = GRID_NOWHERE;
    truth->placed = true;
    truth->at = at;
    truth->time = now;
    if (truth->told == GRID_NOWHERE || grid_well_outside(grid, truth->told, at)) truth->told = grid_cell(grid, at);
}

static bool is_hidden(void *context, int64_t user) { return user % 7 == *(int *)context; }

static int by_place(const void *a, const void *b) {
    const struct stranger *x = a, *y = b;
    if (x->distance_dm != y->distance_dm) return x->distance_dm < y->distance_dm ? -1 : 1;
    return x->user < y->user ? -1 : x->user > y->user;
}

static size_t brute_force(const struct grid *grid, const struct truth *truths,
                          const struct strangers_question *question, struct stranger *list) {
    size_t count = 0;
    struct geo_point own = grid_centre(grid, grid_cell(grid, question->at));
    for (int user = 0; user < USERS; user++) {
        const struct truth *truth = &truths[user];
        if (!truth->public || !truth->placed || question->now_ms - truth->time >= INACTIVE || user == question->user ||
            is_hidden(question->context, user))
            continue;
        struct geo_point centre = grid_centre(grid, truth->told);
        if (abs(centre.lat - own.lat) > CELL_E7 * 3 / 2 || abs(centre.lng - own.lng) > CELL_E7 * 3 / 2) continue;
        list[count++] = (struct stranger){.user = user,
                                          .at = centre,
                                          .distance_dm = (int64_t)(geo_distance(question->at, centre) * 10 + 0.5),
                                          .time = truth->time - truth->time % STRANGERS_ROUND_MS};
    }
    qsort(list, count, sizeof *list, by_place);
    return count;
}

static void compare(const struct strangers *strangers, const struct truth *truths, int64_t now) {
    struct stranger list[ROOM], wanted[ROOM];
    int seventh = chance(8);
    struct strangers_question question = {.user = chance(USERS),
                                          .at = some_place(),
                                          .now_ms = now,
                                          .turn = chance(9),
                                          .max = ROOM,
                                          .context = &seventh,
                                          .hidden = is_hidden};
    size_t count = strangers_list(strangers, &question, list);
    size_t all = brute_force(strangers_grid(strangers), truths, &question, wanted);
    assert_int_equal(count, all);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(list[i].user, wanted[i].user);
        assert_int_equal(list[i].distance_dm, wanted[i].distance_dm);
        assert_int_equal(list[i].time, wanted[i].time);
        assert_memory_equal(&list[i].at, &wanted[i].at, sizeof list[i].at);
    }
    question.max = 5; // the nearest, whichever they are of those equally near
    size_t few = strangers_list(strangers, &question, list);
    if (seventh == 7) assert_int_equal(few, all < 5 ? all : 5);
    for (size_t i = 0; seventh == 7 && i < few; i++) assert_int_equal(list[i].distance_dm, wanted[i].distance_dm);
}

TEST(test_lists_against_brute_force) {
    struct strangers *strangers = make(0);
    struct truth truths[USERS] = {{.public = false}};
    int64_t now = 1000 * INACTIVE;
    size_t public = 0;
    for (int step = 0; step < STEPS; step++) {
        int user = chance(USERS), what = chance(100);
        now += chance(what == 0 ? INACTIVE : 2000);
        if (what < 3) {
            strangers_drop(strangers, user);
            truths[user] = (struct truth){.public = false};
        } else if (what < 12) {
            strangers_add(strangers, user);
            truths[user].public = true;
        } else if (what < 15) {
            strangers_hide(strangers, user);
            truths[user].placed = false;
        } else {
            report(strangers, &truths[user], user, now);
        }
        strangers_advance(strangers, now, now, 10);
        if (step % 3 == 0) compare(strangers, truths, now);
        if (step == STEPS / 2) {
            strangers_clear(strangers);
            memset(truths, 0, sizeof truths);
        }
    }
    for (int user = 0; user < USERS; user++) public += truths[user].public;
    assert_int_equal(strangers_count(strangers), public);
    strangers_free(strangers);
}

/* ---- delays ---- */

TEST(test_a_place_is_told_after_its_delay_and_no_later) {
    size_t early = 0, late = 0;
    for (int64_t user = 0; user < 200; user++) {
        struct strangers *strangers = make(DELAY);
        const struct grid *grid = strangers_grid(strangers);
        int64_t then = user * 7919, told = -1;
        strangers_add(strangers, user);
        // The report is old, and comes now: the delay counts from when it came.
        strangers_place(strangers, user, HOME, then, then + INACTIVE - 2 * DELAY);
        int64_t came = then + INACTIVE - 2 * DELAY;
        for (int64_t now = came; told < 0; now += 500) {
            strangers_advance(strangers, now, now, 10);
            if (told_of(strangers, user, HOME, now) == grid_cell(grid, HOME)) told = now - came;
            assert_true(now - came <= DELAY + 500);
        }
        early += told < DELAY / 4;
        late += told > DELAY * 3 / 4;
        strangers_free(strangers);
    }
    assert_true(early > 25 && early < 80 && late > 25 && late < 80);
}

/* At each moment the told cell is one where the user was, and every user who stays somewhere is told to be there in the end. A second
 * router reads everything afterwards, and knows the same. */
TEST(test_another_router_tells_the_same_at_the_same_time) {
    enum { TIMES = 400 };
    static struct geo_point places[TIMES];
    static int64_t times[TIMES];
    size_t moves = 0;
    for (int64_t user = 0; user < 60; user++) {
        struct strangers *first = make(DELAY), *second = make(DELAY);
        const struct grid *grid = strangers_grid(first);
        int64_t now = 5000000;
        double north = 0, east = 0;
        uint64_t before = GRID_NOWHERE;
        strangers_add(first, user);
        strangers_add(second, user);
        for (int i = 0; i < TIMES; i++) {
            int64_t next = now + 1000 + chance(59000);
            north += (chance(2001) - 1000) / 4000.0;
            east += (chance(2001) - 1000) / 4000.0;
            north = north > 1 ? 1 : north < -1 ? -1 : north;
            east = east > 1 ? 1 : east < -1 ? -1 : east;
            for (; now < next; now += 5000) strangers_advance(first, now, now, 10);
            now = next;
            places[i] = beside(north, east);
            times[i] = now;
            strangers_place(first, user, places[i], now, now);
            uint64_t told = told_of(first, user, HOME, now);
            bool been = told == GRID_NOWHERE;
            for (int back = i; !been && back >= 0; back--) been = grid_cell(grid, places[back]) == told;
            assert_true(been);
            moves += told != before;
            before = told;
            strangers_place(second, user, places[i], now, times[i]);
            if (i % 40 == 39) {
                strangers_advance(first, now, now, 10);
                strangers_advance(second, now, now, 1000);
                assert_true(told_of(first, user, HOME, now) == told_of(second, user, HOME, now));
            }
        }
        strangers_advance(first, now + 3 * DELAY, now, 10);
        assert_false(grid_well_outside(grid, told_of(first, user, HOME, now), places[TIMES - 1]));
        strangers_free(first);
        strangers_free(second);
    }
    assert_true(moves > 1000);
}

TEST(test_what_is_told_is_where_the_delay_began) {
    struct strangers *strangers = make(DELAY);
    const struct grid *grid = strangers_grid(strangers);
    int64_t now = 1000000;
    struct geo_point start = grid_centre(grid, grid_cell(grid, HOME)), next = start, beyond = start;
    next.lng += CELL_E7;
    beyond.lng += 2 * CELL_E7;
    strangers_add(strangers, 1);
    strangers_place(strangers, 1, start, now, now);
    now += DELAY;
    strangers_advance(strangers, now, now, 10);
    assert_true(told_of(strangers, 1, start, now) == grid_cell(grid, start));
    strangers_place(strangers, 1, next, now, now);
    strangers_place(strangers, 1, beyond, now + 1, now + 1);
    uint64_t told = GRID_NOWHERE;
    for (int64_t end = now + DELAY + 1; now <= end && told != grid_cell(grid, next); now++) {
        strangers_advance(strangers, now, now, 10);
        told = told_of(strangers, 1, start, now);
        assert_true(told == grid_cell(grid, start) || told == grid_cell(grid, next));
    }
    assert_true(told == grid_cell(grid, next)); // and only then, after a delay of its own, the one beyond
    strangers_advance(strangers, now + DELAY, now, 10);
    assert_true(told_of(strangers, 1, next, now) == grid_cell(grid, beyond));
    strangers_free(strangers);
}

/* ---- what changes nothing ---- */

TEST(test_moves_within_a_cell_and_a_little_outside_change_no_answer) {
    struct strangers *strangers = make(DELAY);
    const struct grid *grid = strangers_grid(strangers);
    struct geo_point centre = grid_centre(grid, grid_cell(grid, HOME));
    int64_t now = 10 * STRANGERS_ROUND_MS;
    struct stranger before[ROOM], after[ROOM];
    strangers_add(strangers, 1);
    strangers_place(strangers, 1, centre, now, now);
    strangers_advance(strangers, now + DELAY, now, 10);
    assert_int_equal(ask(strangers, 2, beside(0.3, 0.3), now, before), 1);
    for (int i = 0; i < 3000; i++) {
        struct geo_point at = {centre.lat + (chance(1200) - 600) * (CELL_E7 / 1000),
                               centre.lng + (chance(1200) - 600) * (CELL_E7 / 1000)};
        now += STRANGERS_ROUND_MS / 4000;
        strangers_place(strangers, 1, at, now, now);
        strangers_advance(strangers, now, now, 10);
        assert_int_equal(ask(strangers, 2, beside(0.3, 0.3), now, after), 1);
        assert_memory_equal(before, after, sizeof before[0]);
    }
    strangers_free(strangers);
}

TEST(test_a_place_does_not_depend_on_who_asks_from_where) {
    struct strangers *strangers = make(0);
    struct stranger list[ROOM];
    const struct grid *grid = strangers_grid(strangers);
    strangers_add(strangers, 1);
    strangers_place(strangers, 1, HOME, 1000, 1000);
    strangers_advance(strangers, 1000, 1000, 10);
    struct geo_point told = grid_centre(grid, grid_cell(grid, HOME));
    for (int i = 0; i < 1000; i++) {
        struct geo_point at = some_place();
        if (!ask(strangers, 5, at, 1000, list)) continue;
        assert_memory_equal(&list[0].at, &told, sizeof told);
        assert_int_equal(list[0].distance_dm, (int64_t)(geo_distance(at, told) * 10 + 0.5));
    }
    strangers_free(strangers);
}

TEST(test_who_comes_back_from_silence_is_told_anew) {
    struct strangers *strangers = make(DELAY);
    int64_t now = 1000000;
    strangers_add(strangers, 1);
    strangers_place(strangers, 1, HOME, now, now);
    strangers_advance(strangers, now + DELAY, now, 10);
    assert_true(told_of(strangers, 1, HOME, now + INACTIVE - 1) != GRID_NOWHERE);
    assert_true(told_of(strangers, 1, HOME, now + INACTIVE) == GRID_NOWHERE);
    assert_int_equal(strangers_placed(strangers), 1);
    now += INACTIVE;
    struct geo_point other = beside(1, 1);
    strangers_place(strangers, 1, other, now, now); // nobody had looked in between
    assert_true(told_of(strangers, 1, HOME, now) == GRID_NOWHERE);
    strangers_advance(strangers, now + DELAY, now, 10);
    assert_true(told_of(strangers, 1, HOME, now) == grid_cell(strangers_grid(strangers), other));
    strangers_advance(strangers, now + DELAY, now + INACTIVE, 10);
    assert_int_equal(strangers_placed(strangers), 0);
    strangers_free(strangers);
}

/* ---- crowds ---- */

static size_t asked;
static bool count_and_hide(void *context, int64_t user) {
    asked++;
    return *(bool *)context;
}

TEST(test_a_crowd_takes_turns_and_bounded_work) {
    enum { CROWD = 20000, MAX = 50 };
    struct strangers *strangers = make(0);
    static bool seen[CROWD];
    struct stranger list[MAX];
    bool hide = false;
    for (int64_t user = 0; user < CROWD; user++) {
        strangers_add(strangers, user);
        strangers_place(strangers, user, HOME, 1000, 1000);
    }
    strangers_advance(strangers, 1000, 1000, CROWD);
    struct strangers_question question = {
        .user = 7, .at = HOME, .now_ms = 1000, .max = MAX, .context = &hide, .hidden = count_and_hide};
    for (question.turn = 0; question.turn < CROWD / MAX; question.turn++) {
        asked = 0;
        assert_int_equal(strangers_list(strangers, &question, list), MAX);
        assert_int_equal(asked, MAX);
        for (int i = 0; i < MAX; i++) seen[list[i].user] = true;
    }
    for (int user = 0; user < CROWD; user++) assert_int_equal(seen[user], user != 7);

    hide = true; // whom nobody may see costs no more either
    asked = 0;
    assert_int_equal(strangers_list(strangers, &question, list), 0);
    assert_int_equal(asked, 2 * MAX);

    for (int64_t user = 0; user < CROWD; user += 2) strangers_drop(strangers, user);
    for (int64_t user = 0; user < CROWD; user += 4) strangers_add(strangers, user); // takes their room
    assert_int_equal(strangers_count(strangers), CROWD / 2 + CROWD / 4);
    assert_int_equal(strangers_placed(strangers), CROWD / 2);
    strangers_free(strangers);
    strangers_free(NULL);
}
