/* Distance on the Earth: the one function that decides what "near" means, for routers, edges and clients alike.
 *
 * Haversine with R = 6,371,008.8 m, in double, from 1e-7 degree integers. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GEO_EARTH_RADIUS_M 6371008.8
#define GEO_RADIUS_DEFAULT_M 8046.72 /* 5 miles */

struct geo_point {
    int32_t lat, lng; /* 1e-7 degrees; lat within +-900000000, lng within +-1800000000 */
};

bool geo_valid(struct geo_point p);

/* Metres. The same from a to b as from b to a, to the last bit. */
double geo_distance(struct geo_point a, struct geo_point b);

/* A point prepared for many comparisons with one radius. For valid points geo_near decides exactly as geo_distance(centre, p) <=
 * radius does. A difference of latitude or longitude decides most candidates, a few multiplications nearly all others;
 * geo_distance itself is needed only within micrometres of the radius. */
struct geo_circle {
    struct geo_point centre;
    double radius_m;
    double cos_lat, sin_lat; /* of the centre */
    int64_t lat_reach;       /* 1e-7 degrees: further north or south than this is certainly outside */
    int64_t lng_reach;       /* the same for east and west; only where small */
    double inner, outer;     /* haversines (0 to 1): up to inner is certainly inside, from outer on certainly outside */
    bool small;              /* both reaches are short enough for the multiplications to be that precise */
};

struct geo_circle geo_circle(struct geo_point centre, double radius_m);
bool geo_near(const struct geo_circle *circle, struct geo_point p);

/* geo_distance(circle->centre, p). In a small circle it is computed by the same multiplications, and differs from geo_distance by
 * less than a billionth. */
double geo_circle_distance(const struct geo_circle *circle, struct geo_point p);

/* Both answers for many points, at less than half the price each. distance_m of a point that is not near is undefined. */
void geo_circle_look(const struct geo_circle *circle, const struct geo_point *points, size_t count, bool *near,
                     double *distance_m);
