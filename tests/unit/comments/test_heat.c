/* Tests heat.c and places.c. Heat against floating-point logarithms, and cursors of pages. */
#include <math.h>

#include "comments/heat.h"
#include "comments/places.h"
#include "unit/kit/kit.h"

enum { STEP_MS = 450000 };
static const int64_t TIME_MS = INT64_C(1780000000000);

TEST(heat_is_the_logarithm_in_steps) {
    for (int64_t likes = 0; likes < 200000; likes++) {
        double steps = 32 * log2((double)likes + 1), is = (double)(heat_of(likes, TIME_MS) - TIME_MS) / STEP_MS;
        assert_true(is <= steps + 1e-6 && is > steps - 1 - 1e-6);
        assert_true(heat_of(likes + 1, TIME_MS) >= heat_of(likes, TIME_MS));
    }
}

TEST(twice_the_likes_weigh_four_hours) {
    for (int64_t score = 1; score <= INT64_C(1) << 40; score *= 2)
        assert_int_equal(heat_of(2 * score - 1, TIME_MS) - heat_of(score - 1, TIME_MS), 4 * 3600000);
}

TEST(many_likes_move_a_comment_rarely) {
    int moves = 0;
    for (int64_t likes = 1; likes <= 100000; likes++) moves += heat_of(likes, 0) != heat_of(likes - 1, 0);
    assert_in_range(moves, 100, 32 * 17);
}

TEST(cursors_are_read_as_they_were_written) {
    static const struct threads_place PLACES[] = {
        {.sort = THREADS_FLOOR, .begun = true, .at = 12},
        {.sort = THREADS_NEWEST, .begun = true, .at = 1},
        {.sort = THREADS_HEAT, .begun = true, .at = INT64_C(1780000000000), .id = INT64_MAX},
        {.sort = THREADS_ANSWERS, .begun = true, .at = 7},
    };
    for (size_t i = 0; i < ARRAY_SIZE(PLACES); i++) {
        char text[PLACE_TEXT_SIZE];
        struct threads_place read;
        place_write(&PLACES[i], text);
        for (int s = THREADS_FLOOR; s <= THREADS_ANSWERS; s++)
            assert_int_equal(place_read(text, (enum threads_sort)s, &read), s == (int)PLACES[i].sort);
        assert_true(place_read(text, PLACES[i].sort, &read));
        assert_int_equal(read.at, PLACES[i].at);
        assert_int_equal(read.id, PLACES[i].id);
        assert_true(read.begun);
    }
}

TEST(other_texts_are_no_cursors) {
    static const char *const BAD[] = {"", "floor", "floor-", "floor-x", "floor--1", "floor-1-2", "floor-99999999999"};
    static const char *const HEAT[] = {"heat-", "heat-1", "heat-1-", "heat--1", "heat-1-x"};
    struct threads_place place;
    enum threads_sort sort;
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++) assert_false(place_read(BAD[i], THREADS_FLOOR, &place));
    for (size_t i = 0; i < ARRAY_SIZE(HEAT); i++) assert_false(place_read(HEAT[i], THREADS_HEAT, &place));
    assert_true(place_read(NULL, THREADS_HEAT, &place));
    assert_false(place.begun);
    assert_true(place_sort_of("heat", &sort));
    assert_int_equal(sort, THREADS_HEAT);
    assert_false(place_sort_of("best", &sort));
    assert_false(place_sort_of("answers", &sort)); // of no page of roots
}
