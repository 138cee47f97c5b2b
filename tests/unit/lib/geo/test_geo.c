/* Distance, and that the quick check of "near" never decides differently. */
#include <math.h>

#include "geo/geo.h"
#include "unit/kit/kit.h"

enum { POLE = 900000000, HALF_TURN = 1800000000 };

TEST(validity) {
    assert_true(geo_valid((struct geo_point){0, 0}));
    assert_true(geo_valid((struct geo_point){POLE, HALF_TURN}));
    assert_true(geo_valid((struct geo_point){-POLE, -HALF_TURN}));
    assert_false(geo_valid((struct geo_point){POLE + 1, 0}));
    assert_false(geo_valid((struct geo_point){-POLE - 1, 0}));
    assert_false(geo_valid((struct geo_point){0, HALF_TURN + 1}));
    assert_false(geo_valid((struct geo_point){0, -HALF_TURN - 1}));
    assert_false(geo_valid((struct geo_point){INT32_MIN, INT32_MIN}));
}

TEST(known_distances) {
    static const struct {
        struct geo_point a, b;
        double metres;
    } CASES[] = {
        {{0, 0}, {0, 0}, 0},
        {{0, 0}, {10000000, 0}, 111195.08023353292}, // one degree north
        {{0, 0}, {0, 10000000}, 111195.08023353292}, // one degree east on the equator
        {{600000000, 0},
         {600000000, 10000000},
         55597.01086489692},                    // at 60 degrees half of that, but for the great circle being shorter
        {{0, 0}, {1, 0}, 0.011119508023353292}, // the smallest step
        {{0, HALF_TURN - 1}, {0, -HALF_TURN + 1}, 0.022239016046706584}, // across the antimeridian
        {{0, HALF_TURN}, {0, -HALF_TURN}, 0},
        {{POLE, 0}, {-POLE, 0}, 20015114.442035925},                    // half round the Earth
        {{POLE, 0}, {POLE, HALF_TURN}, 0},                              // the pole has all longitudes
        {{899999999, 0}, {899999999, HALF_TURN}, 0.022239016046706584}, // across the pole
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        double tolerance = 1e-9 + CASES[i].metres * 1e-10;
        assert_true(fabs(geo_distance(CASES[i].a, CASES[i].b) - CASES[i].metres) <= tolerance);
    }
}

/* A random number from 0 to below 1. */
static double fraction(void) { return (rand() + rand() / (RAND_MAX + 1.0)) / (RAND_MAX + 1.0); }

static int64_t between(int64_t low, int64_t high) { return low + (int64_t)(fraction() * (double)(high - low + 1)); }

static struct geo_point wrapped(int64_t lat, int64_t lng) {
    lat = lat > POLE ? POLE : lat < -POLE ? -POLE : lat;
    while (lng > HALF_TURN) lng -= 2 * (int64_t)HALF_TURN;
    while (lng < -HALF_TURN) lng += 2 * (int64_t)HALF_TURN;
    return (struct geo_point){(int32_t)lat, (int32_t)lng};
}

/* A point where people are, and wherever formulas are at their worst. */
static struct geo_point random_point(void) {
    int64_t lat = between(-POLE, POLE), lng = between(-HALF_TURN, HALF_TURN);
    static const int64_t SPANS[] = {3, 1000, 1000000, 50000000};
    int64_t span = SPANS[rand() % 4];
    switch (rand() % 6) {
    case 0: lat = (rand() % 2 ? 1 : -1) * (POLE - between(0, span)); break;
    case 1: lng = (rand() % 2 ? 1 : -1) * (HALF_TURN - between(0, span)); break;
    case 2: lat = between(-span, span); break;
    case 3: lat = between(800000000, POLE); break;
    default: break;
    }
    return wrapped(lat, lng);
}

/* The same by vectors, in long double: a formula that is precise everywhere. */
static double by_vectors(struct geo_point a, struct geo_point b) {
    const long double unit = 3.14159265358979323846264338327950288L / 1800000000;
    long double alat = a.lat * unit, blat = b.lat * unit, turn = ((int64_t)b.lng - a.lng) * unit;
    long double x = cosl(blat) * sinl(turn);
    long double y = cosl(alat) * sinl(blat) - sinl(alat) * cosl(blat) * cosl(turn);
    long double along = sinl(alat) * sinl(blat) + cosl(alat) * cosl(blat) * cosl(turn);
    return (double)((long double)GEO_EARTH_RADIUS_M * atan2l(hypotl(x, y), along));
}

TEST(distance_is_precise_and_symmetric) {
    srand(1);
    for (int i = 0; i < 200000; i++) {
        struct geo_point a = random_point(), b = random_point();
        if (i % 2) b = wrapped(a.lat + between(-1000000, 1000000), a.lng + between(-1000000, 1000000));
        double distance = geo_distance(a, b);
        assert_true(distance == geo_distance(b, a));
        // Haversine loses digits towards the antipode only.
        double precise = by_vectors(a, b);
        assert_true(fabs(distance - precise) <= (precise > 19.9e6 ? 1 : 1e-6));
    }
}

/* Rounding makes the haversine of some of these greater than 1, which no angle has. */
TEST(antipodes_are_half_round_the_earth) {
    srand(5);
    for (int i = 0; i < 200000; i++) {
        struct geo_point a = random_point(), b = wrapped(-a.lat, a.lng + (int64_t)HALF_TURN);
        assert_true(fabs(geo_distance(a, b) - M_PI * GEO_EARTH_RADIUS_M) < 1);
    }
}

/* Counts how the pairs fell, so that a test that compares nothing near the edge is noticed. */
struct tally {
    int in, out;
};

/* The point among those that were looked at last: as many, and it at such a place, as it happens. */
static void check_together(const struct geo_circle *circle, struct geo_point p) {
    enum { MOST = 19, EVERY = 3 };
    static struct geo_point points[MOST];
    static size_t turn;
    bool near[MOST];
    double distances[MOST];
    if (turn++ % EVERY) return;
    size_t count = turn / EVERY % MOST + 1;
    points[turn / EVERY % 7 * count / 7] = p;
    geo_circle_look(circle, points, count, near, distances);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(near[i], geo_near(circle, points[i]));
        double distance = near[i] ? geo_distance(circle->centre, points[i]) : 0;
        if (near[i]) assert_true(fabs(distances[i] - distance) <= distance * 1e-9);
    }
}

static void check(struct geo_point centre, double radius, struct geo_point p, struct tally *tally) {
    struct geo_circle circle = geo_circle(centre, radius);
    bool near = geo_near(&circle, p), exact = geo_distance(centre, p) <= radius;
    if (near != exact) {
        print_error("centre %d %d, radius %.17g, point %d %d, distance %.17g: near says %d\n", centre.lat, centre.lng,
                    radius, p.lat, p.lng, geo_distance(centre, p), near);
        fail();
    }
    double distance = geo_distance(centre, p);
    assert_true(fabs(geo_circle_distance(&circle, p) - distance) <= distance * 1e-9);
    check_together(&circle, p);
    tally->in += near;
    tally->out += !near;
}

static double random_radius(void) {
    static const double RADII[] = {
        0,     1e-9, 0.005, 0.0111195, 1,   25,  1000, GEO_RADIUS_DEFAULT_M, GEO_RADIUS_DEFAULT_M,
        50000, 2e5,  6e5,   1e6,       5e6, 1e7, 2e7,  20015114.4,           1e9};
    double radius = RADII[(size_t)rand() % (sizeof RADII / sizeof *RADII)];
    return rand() % 2 ? radius : radius * (0.5 + fraction());
}

/* A point about `metres` away in a random direction; not all the way round a pole. */
static struct geo_point step(struct geo_point from, double metres) {
    const double unit = M_PI / 1800000000;
    double angle = fmin(metres / GEO_EARTH_RADIUS_M, M_PI), bearing = fraction() * 2 * M_PI, lat = from.lat * unit;
    if (rand() % 4 == 0) bearing = floor(bearing / (M_PI / 2)) * (M_PI / 2); // due north, east, south, west
    double to = asin(fmax(-1, fmin(1, sin(lat) * cos(angle) + cos(lat) * sin(angle) * cos(bearing))));
    double turn = atan2(sin(bearing) * sin(angle) * cos(lat), cos(angle) - sin(lat) * sin(to));
    return wrapped(llround(to / unit), from.lng + llround(turn / unit));
}

TEST(near_agrees_with_distance) {
    struct tally tally = {0};
    srand(2);
    for (int i = 0; i < 1000000; i++) {
        struct geo_point centre = random_point();
        double radius = random_radius();
        // At the circle, within a few units of it, or anywhere around.
        struct geo_point p = step(centre, rand() % 2 ? radius : radius * 2 * fraction());
        if (rand() % 2) p = wrapped(p.lat + between(-2, 2), p.lng + between(-2, 2));
        check(centre, radius, p, &tally);
    }
    assert_true(tally.in > 300000 && tally.out > 200000);
}

/* The radius is the very distance of the point, or the next number below or above. */
TEST(near_agrees_at_the_boundary) {
    struct tally tally = {0};
    srand(3);
    for (int i = 0; i < 300000; i++) {
        struct geo_point centre = random_point();
        struct geo_point p = rand() % 4 ? step(centre, random_radius()) : random_point();
        double distance = geo_distance(centre, p);
        check(centre, distance, p, &tally);
        check(centre, nextafter(distance, 0), p, &tally);
        check(centre, nextafter(distance, HUGE_VAL), p, &tally);
        check(centre, distance * (1 + (fraction() - 0.5) * 4e-9), p, &tally); // in and out of the guard band
    }
    assert_true(tally.in > 600000 && tally.out > 300000);
}

/* Where the cosine of a latitude has few digits left: centimetres to kilometres from the pole, circles of a tenth of that. */
TEST(near_agrees_beside_the_pole) {
    struct tally tally = {0};
    srand(6);
    for (int i = 0; i < 300000; i++) {
        int64_t away = (int64_t)pow(10, 1 + 5 * fraction());
        struct geo_point centre = wrapped(POLE - away, between(-HALF_TURN, HALF_TURN));
        struct geo_point p = step(centre, (double)away * 0.0111 * 0.1 * fraction());
        check(centre, geo_distance(centre, p) * (1 + (fraction() - 0.5) * 1e-8), p, &tally);
    }
    assert_true(tally.in > 100000 && tally.out > 100000);
}

TEST(near_agrees_on_what_is_far) {
    struct tally tally = {0};
    srand(4);
    for (int i = 0; i < 300000; i++) check(random_point(), random_radius(), random_point(), &tally);
    assert_true(tally.in > 1000 && tally.out > 100000);
}

TEST(nothing_is_within_no_radius) {
    struct geo_point point = {399847021, 1163000000};
    static const double RADII[] = {-1, -0.0000001, -HUGE_VAL};
    struct tally tally = {0};
    for (int i = 0; i < 3; i++) check(point, RADII[i], point, &tally);
    check(point, NAN, point, &tally);
    assert_int_equal(tally.in, 0);
    check(point, 0, point, &tally);
    check(point, HUGE_VAL, (struct geo_point){-399847021, -637000000}, &tally);
    assert_int_equal(tally.in, 2);
}
