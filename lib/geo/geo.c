#include "geo/geo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define E7_TO_RADIANS (M_PI / 180e7)

enum { POLE = 900000000, HALF_TURN = 1800000000 };

bool geo_valid(struct geo_point p) {
    return p.lat >= -POLE && p.lat <= POLE && p.lng >= -HALF_TURN && p.lng <= HALF_TURN;
}

/* The shorter way round, in 1e-7 degrees: from 0 to HALF_TURN. */
static int64_t lng_difference(int32_t a, int32_t b) {
    int64_t difference = llabs((int64_t)a - b);
    return difference > HALF_TURN ? 2 * (int64_t)HALF_TURN - difference : difference;
}

double geo_distance(struct geo_point a, struct geo_point b) {
    // Differences are taken of the integers, where they are exact: nearby points lose no digits.
    double sin_lat = sin((double)((int64_t)a.lat - b.lat) * (E7_TO_RADIANS / 2));
    double sin_lng = sin((double)lng_difference(a.lng, b.lng) * (E7_TO_RADIANS / 2));
    double cosines = cos(a.lat * E7_TO_RADIANS) * cos(b.lat * E7_TO_RADIANS);
    double haversine = sin_lat * sin_lat + cosines * (sin_lng * sin_lng);
    // Between antipodes rounding goes beyond 1; how far is up to the C library, and asin has no answer there.
    return 2 * GEO_EARTH_RADIUS_M * asin(sqrt(fmin(haversine, 1)));
}

/* How the multiplications of geo_near stay exact. With |d| and |l| (differences in radians) at most SMALL = 0.1, the series
 * below are cut where the rest is under 6e-11 of the haversine:
 *
 *     sin^2(x/2) = x^2/4 - x^4/48 + x^6/1440 - ...         rest under x^8/80640
 *     cos d      = 1 - d^2/2 + d^4/24 - d^6/720 + ...      rest under d^8/40320
 *     sin d      = d - d^3/6 + d^5/120 - ...               rest under d^7/5040; d <= SMALL * cos_lat, see lng_reach
 *
 * and the rounding of either way to the haversine is under 1e-12 of it (COS_LEAST keeps the poles out, where a cosine of
 * a rounded latitude has few digits left). The guard band is 1e-9 of it to either side: 4
 * micrometres at 5 miles. A point in the band is left to geo_distance. */
#define SMALL 0.1
#define GUARD 1e-9
#define COS_LEAST 1e-3

/* The reaches are rounded up and widened by this, far more than any rounding of the sines that made them. */
enum { REACH_MARGIN = 2 };

struct geo_circle geo_circle(struct geo_point centre, double radius_m) {
    double lat = centre.lat * E7_TO_RADIANS;
    double angle = fmin(radius_m / GEO_EARTH_RADIUS_M, M_PI);
    double half = sin(angle / 2), haversine = half * half;
    // The meridians that touch the circle are asin(sin(angle) / cos(lat)) away, unless a pole is inside.
    double touch = sin(angle) / cos(lat);
    bool small = angle <= SMALL && touch <= sin(SMALL) && cos(lat) >= COS_LEAST;

    // Also a radius that is no number: nothing is within it.
    if (!(radius_m >= 0))
        return (struct geo_circle){.centre = centre, .radius_m = radius_m, .lat_reach = -1, .lng_reach = -1};
    return (struct geo_circle){
        .centre = centre,
        .radius_m = radius_m,
        .cos_lat = cos(lat),
        .sin_lat = sin(lat),
        .lat_reach = (int64_t)ceil(angle / E7_TO_RADIANS) + REACH_MARGIN,
        .lng_reach = small ? (int64_t)ceil(asin(touch) / E7_TO_RADIANS) + REACH_MARGIN : HALF_TURN,
        .inner = haversine * (1 - GUARD),
        .outer = haversine * (1 + GUARD),
        .small = small,
    };
}

static inline double haversine_of(double square) /* of an angle, given its square */
{
    return square * (1 / 4.0 - square * (1 / 48.0 - square * (1 / 1440.0)));
}

/* Of a small circle's centre and a point within its reaches. */
static inline double haversine_to(const struct geo_circle *circle, double north, double east) {
    double d = north * E7_TO_RADIANS, l = east * E7_TO_RADIANS;
    double d2 = d * d;
    double cos_d = 1 - d2 * (1 / 2.0 - d2 * (1 / 24.0 - d2 * (1 / 720.0)));
    double sin_d = d * (1 - d2 * (1 / 6.0 - d2 * (1 / 120.0)));
    double cos_p = circle->cos_lat * cos_d - circle->sin_lat * sin_d;
    return haversine_of(d2) + circle->cos_lat * cos_p * haversine_of(l * l);
}

bool geo_near(const struct geo_circle *circle, struct geo_point p) {
    int64_t north = (int64_t)p.lat - circle->centre.lat;
    if (north > circle->lat_reach || north < -circle->lat_reach) return false;
    int64_t east = lng_difference(p.lng, circle->centre.lng);
    if (east > circle->lng_reach) return false;
    if (circle->small) {
        double haversine = haversine_to(circle, (double)north, (double)east);
        if (haversine <= circle->inner) return true;
        if (haversine >= circle->outer) return false;
    }
    return geo_distance(circle->centre, p) <= circle->radius_m;
}

/* Metres, of a small circle. asin(x) = x + x^3/6 + 3x^5/40 + 5x^7/112 + ...: with x, the sine of half an angle, up to SMALL / 2 the
 * rest is under 2e-12 of it. */
static inline double metres(double haversine) {
    return 2 * GEO_EARTH_RADIUS_M * sqrt(haversine) *
           (1 + haversine * (1 / 6.0 + haversine * (3 / 40.0 + haversine * (5 / 112.0))));
}

double geo_circle_distance(const struct geo_circle *circle, struct geo_point p) {
    int64_t north = (int64_t)p.lat - circle->centre.lat, east = lng_difference(p.lng, circle->centre.lng);
    bool far = llabs(north) > circle->lat_reach || east > circle->lng_reach;
    if (!circle->small || far) return geo_distance(circle->centre, p);
    return metres(haversine_to(circle, (double)north, (double)east));
}

/* Some points and a small circle. Loops of a fixed length without branches: compilers make vectors of them. */
enum { LANES = 8 };
struct vector_lanes {
    double north[LANES], east[LANES], haversine[LANES], distance_m[LANES];
};

static void look(const struct geo_circle *circle, const struct geo_point *points, struct vector_lanes *lanes) {
    const double lat = circle->centre.lat, lng = circle->centre.lng;
    for (int i = 0; i < LANES; i++) {
        double there = fabs(points[i].lng - lng), other_way = 2.0 * HALF_TURN - there;
        lanes->north[i] = points[i].lat - lat;
        lanes->east[i] = there < other_way ? there : other_way;
    }
    for (int i = 0; i < LANES; i++) lanes->haversine[i] = haversine_to(circle, lanes->north[i], lanes->east[i]);
    for (int i = 0; i < LANES; i++) lanes->distance_m[i] = metres(lanes->haversine[i]);
}

/* As geo_near, from what is known of the point in that lane. */
static bool is_near(const struct geo_circle *circle, struct geo_point p, const struct vector_lanes *lanes,
                    size_t lane) {
    if (fabs(lanes->north[lane]) > (double)circle->lat_reach || lanes->east[lane] > (double)circle->lng_reach)
        return false;
    if (lanes->haversine[lane] <= circle->inner) return true;
    return lanes->haversine[lane] < circle->outer && geo_distance(circle->centre, p) <= circle->radius_m;
}

static void look_at_lanes(const struct geo_circle *circle, const struct geo_point *points, size_t count, bool *near,
                          double *distance_m) {
    struct vector_lanes lanes;
    look(circle, points, &lanes);
    memcpy(distance_m, lanes.distance_m, count * sizeof *distance_m);
    for (size_t i = 0; i < count; i++) near[i] = is_near(circle, points[i], &lanes, i);
}

static void look_one_by_one(const struct geo_circle *circle, const struct geo_point *points, size_t count, bool *near,
                            double *distance_m) {
    for (size_t i = 0; i < count; i++) {
        near[i] = geo_near(circle, points[i]);
        distance_m[i] = geo_circle_distance(circle, points[i]);
    }
}

void geo_circle_look(const struct geo_circle *circle, const struct geo_point *points, size_t count, bool *near,
                     double *distance_m) {
    size_t from = 0;
    for (; circle->small && count - from >= LANES; from += LANES)
        look_at_lanes(circle, points + from, LANES, near + from, distance_m + from);
    if (circle->small && count - from > 1) {
        struct geo_point rest[LANES] = {{0}};
        memcpy(rest, points + from, (count - from) * sizeof *rest);
        look_at_lanes(circle, rest, count - from, near + from, distance_m + from);
    } else {
        look_one_by_one(circle, points + from, count - from, near + from, distance_m + from);
    }
}
