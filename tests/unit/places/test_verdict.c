/* Arrivals and departures against brute force, and each rule alone. */
#include <math.h>

#include "base/chance.h"
#include "places/verdict.h"
#include "unit/kit/kit.h"

enum { AHEAD_MS = 60000, PLACES = 12, HISTORIES = 3000, STEPS = 120 };

static const struct geo_point HOME = {399847000, 1163184000};

/* That many metres to the north. */
static struct geo_point north(double metres) {
    return (struct geo_point){HOME.lat + (int32_t)lround(metres / GEO_EARTH_RADIUS_M * 180e7 / M_PI), HOME.lng};
}

static struct watched_place place_at(double metres, int32_t radius, int32_t slot) {
    struct watched_place place = {.centre = north(metres), .radius = radius, .slot = slot, .id_size = 1, .id = "a"};
    return place;
}

static struct location report(double metres, int64_t time, int32_t accuracy) {
    struct geo_point at = north(metres);
    return (struct location){.user = 7,
                             .lat = at.lat,
                             .lng = at.lng,
                             .time = time,
                             .kind = LOCATION_REPORT,
                             .opted = 5,
                             .accuracy = accuracy};
}

static struct place_state nothing(void) { return (struct place_state){.left = -1}; }

/* One place of 100 m at home, judged once; the arrival is the report's time. */
static uint64_t judge(struct place_state *state, const struct location *event) {
    struct watched_place place = place_at(0, 100, 0);
    struct watched_band band;
    verdict_prepare(&place, state->inside & 1, &band);
    return verdict_take(state, &place, &band, 1, event, event->time, AHEAD_MS);
}

TEST(the_first_report_inside_is_an_arrival_and_a_place_is_left_further_out) {
    static const struct {
        bool inside;
        double metres;
        int32_t accuracy;
        bool turns;
    } CASES[] = {{false, 50, -1, true},         {false, 101, -1, false},      {false, 50, 40, true},
                 {false, 50, 60, false},        {true, 101, -1, false},       {true, 149, -1, false},
                 {true, 151, -1, true},         {true, 400, 200, true},       {true, 400, 300, false},
                 {true, 400, INT32_MAX, false}, {false, 0, INT32_MAX, false}, {false, 50, -1000, true},
                 {true, 151, -1000, true}};
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct place_state state = nothing();
        state.inside = CASES[i].inside;
        struct location event = report(CASES[i].metres, 10, CASES[i].accuracy);
        assert_int_equal(judge(&state, &event), CASES[i].turns);
        assert_int_equal(state.inside, CASES[i].inside != CASES[i].turns);
        assert_int_equal(state.newest, 10);
    }
}

TEST(the_margin_is_a_tenth_of_a_large_radius) {
    struct watched_place place = place_at(0, 10000, 3);
    struct watched_band band;
    verdict_prepare(&place, true, &band);
    struct location near = report(10999, 1, -1), far = report(11001, 1, -1);
    assert_false(verdict_turns(&place, true, &near));
    assert_true(verdict_turns(&place, true, &far));
}

TEST(only_reports_and_joins_of_a_time_count) {
    for (int kind = LOCATION_REPORT; kind <= LOCATION_LEAVE; kind++) {
        struct place_state state = nothing();
        struct location event = report(0, 10, -1);
        event.kind = (enum location_kind)kind;
        bool counts = kind == LOCATION_REPORT || kind == LOCATION_JOIN;
        assert_int_equal(judge(&state, &event), counts);
        assert_int_equal(state.newest, counts ? 10 : 0);
        assert_int_equal(state.left, kind == LOCATION_LEAVE ? 5 : -1);
        event.time = 0;
        assert_int_equal(judge(&state, &event), 0);
    }
}

TEST(older_ones_do_not_count_and_of_equal_times_each_does) {
    struct place_state state = nothing();
    struct location event = report(0, 10, -1);
    state.newest = 11;
    assert_int_equal(judge(&state, &event), 0);
    state.newest = 10;
    assert_int_equal(judge(&state, &event), 1);
    event = report(500, 10, -1);
    assert_int_equal(judge(&state, &event), 1);
}

TEST(a_leave_makes_nobody_leave_and_ends_the_consent) {
    struct place_state state = nothing();
    struct location leave = report(9000, 20, -1), event = report(9000, 30, -1);
    state.inside = 1;
    leave.kind = LOCATION_LEAVE;
    assert_int_equal(judge(&state, &leave), 0);
    assert_true(state.inside == 1 && state.left == 5 && state.newest == 0);
    assert_int_equal(judge(&state, &event), 0); // of the consent that has ended
    leave.opted = 3;
    assert_int_equal(judge(&state, &leave), 0);
    assert_int_equal(state.left, 5); // one that came late ends nothing more
    event.opted = 6;
    assert_int_equal(judge(&state, &event), 1);
    state = nothing();
    event.opted = -1; // nobody checked, and nobody has left
    event = report(0, 40, -1);
    event.opted = -1;
    assert_int_equal(judge(&state, &event), 1);
}

TEST(a_time_from_long_after_its_arrival_does_not_count) {
    struct place_state state = nothing();
    struct location event = report(0, 1000000, -1);
    assert_false(verdict_counts(&state, &event, 1000000 - AHEAD_MS - 1, AHEAD_MS));
    assert_true(verdict_counts(&state, &event, 1000000 - AHEAD_MS, AHEAD_MS));
    assert_true(verdict_counts(&state, &event, 0, VERDICT_ANY_TIME));
}

/* ---- many places, against brute force ---- */

struct plain_place {
    struct geo_point centre;
    double radius;
    bool inside;
};

static bool plain_turns(const struct plain_place *place, const struct location *event) {
    double distance = geo_distance(place->centre, (struct geo_point){event->lat, event->lng});
    double accuracy = event->accuracy < 0 ? 0 : event->accuracy;
    if (!place->inside) return distance + accuracy <= place->radius;
    return distance - accuracy > place->radius + fmax(50, place->radius / 10);
}

static uint32_t roll(struct chance *chance, uint32_t below) { return chance_next(chance) % below; }

static struct location some_report(struct chance *chance, struct geo_point *at, int64_t *time) {
    static const int32_t STRIDES[] = {50, 2000, 30000, 1000000, 40000000},
                         ACCURACIES[] = {-1, 0, 10, 60, 3000, 10000000};
    static const int64_t TIMES[] = {0, 0, 1, 900, -1, -5000};
    int32_t stride = STRIDES[roll(chance, 5)];
    at->lat = (int32_t)fmax(-900000000, fmin(900000000, at->lat + (double)roll(chance, 2 * (uint32_t)stride) - stride));
    at->lng = HOME.lng + (int32_t)roll(chance, 2 * (uint32_t)stride) - stride;
    *time += 1000;
    return (struct location){.lat = at->lat,
                             .lng = at->lng,
                             .time = *time + TIMES[roll(chance, 6)],
                             .kind = roll(chance, 8) ? LOCATION_REPORT : LOCATION_JOIN,
                             .opted = 1,
                             .accuracy = ACCURACIES[roll(chance, 6)]};
}

static void history(struct chance *chance) {
    static const int32_t RADIUS[] = {50, 100, 499, 501, 5000, 50000};
    struct watched_place places[PLACES];
    struct watched_band bands[PLACES];
    struct plain_place plain[PLACES];
    struct place_state state = nothing();
    struct geo_point at = HOME;
    int64_t time = 1000000, newest = 0;
    for (int i = 0; i < PLACES; i++) {
        int32_t radius = RADIUS[roll(chance, 6)];
        places[i] = place_at((double)roll(chance, 3000) - 1500, radius, 49 - i);
        verdict_prepare(&places[i], false, &bands[i]);
        plain[i] = (struct plain_place){places[i].centre, radius, false};
    }
    for (int step = 0; step < STEPS; step++) {
        struct location event = some_report(chance, &at, &time);
        uint64_t turned = verdict_take(&state, places, bands, PLACES, &event, event.time, AHEAD_MS), expected = 0;
        for (int i = 0; event.time >= newest && i < PLACES; i++) {
            if (!plain_turns(&plain[i], &event)) continue;
            expected |= UINT64_C(1) << i;
            plain[i].inside = !plain[i].inside;
        }
        if (event.time > newest) newest = event.time;
        assert_true(turned == expected && state.newest == newest);
        for (int i = 0; i < PLACES; i++) assert_int_equal(state.inside >> (49 - i) & 1, plain[i].inside);
    }
}

TEST(any_reports_give_what_brute_force_does) {
    struct chance chance = {.state = 11};
    for (int i = 0; i < HISTORIES; i++) history(&chance);
}
