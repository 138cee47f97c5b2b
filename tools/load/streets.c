#include "tools/load/streets.h"

#include <math.h>
#include <stddef.h>

enum { MAIN_EVERY = 4, CORNERS_MAX = 6 };

static const double CENTRE_LAT = 52.52, CENTRE_LNG = 13.405, METRES_PER_DEGREE = 111195.08;
/* Blocks are 250 m long in the centre, and 670 m at the edge: line(i) = REACH_M * sinh(i / SLOPE). */
static const double REACH_M = 5000, SLOPE = 20;

static double line(double number) { return REACH_M * sinh(number / SLOPE); }
static double line_number(double metres) { return SLOPE * asinh(metres / REACH_M); }

double streets_column(int column) { return line(column); }
double streets_row(int row) { return row <= 0 ? line(row) : STREETS_RIVER_M + line(row - 1); }
bool streets_main_column(int column) { return column % MAIN_EVERY == 0; }
bool streets_main_row(int row) { return (row <= 0 ? row : row - 1) % MAIN_EVERY == 0; }

struct plan_point streets_near(struct plan_point place) {
    double far = hypot(place.x, place.y);
    double scale = far > STREETS_HOMES_M ? STREETS_HOMES_M / far : 1;
    double x = line(round(line_number(place.x * scale))), y = place.y * scale;
    if (y > 0 && y < STREETS_RIVER_M) y = y < STREETS_RIVER_M / 2.0 ? 0 : STREETS_RIVER_M;
    return (struct plan_point){x, y};
}

/* The y of the nearest row on the way to the river. */
static double row_inwards(double y) {
    return y <= 0 ? line(trunc(line_number(y))) : STREETS_RIVER_M + line(trunc(line_number(y - STREETS_RIVER_M)));
}

/* The x of the nearest column with a bridge on the way to the centre. Rounded first: a column's number is whole but for rounding errors. */
static double bridge_inwards(double x) { return line(MAIN_EVERY * trunc(round(line_number(x)) / MAIN_EVERY)); }

/* The corners of the way, both ends among them. All of it is as near to the centre as its ends: going inwards in x or y leads nowhere
 * else. */
static size_t way(struct plan_point from, struct plan_point to, struct plan_point corners[static CORNERS_MAX]) {
    size_t count = 0;
    corners[count++] = from;
    if ((from.y > 0) != (to.y > 0)) {
        double row = row_inwards(from.y), bridge = bridge_inwards(from.x), bank = to.y > 0 ? STREETS_RIVER_M : 0;
        corners[count++] = (struct plan_point){from.x, row};
        corners[count++] = (struct plan_point){bridge, row};
        corners[count++] = (struct plan_point){bridge, bank};
        corners[count++] = (struct plan_point){to.x, bank};
    } else if (from.x != to.x) {
        double row = row_inwards(fabs(from.y) < fabs(to.y) ? from.y : to.y);
        corners[count++] = (struct plan_point){from.x, row};
        corners[count++] = (struct plan_point){to.x, row};
    }
    corners[count++] = to;
    return count;
}

static double apart(struct plan_point a, struct plan_point b) { return fabs(a.x - b.x) + fabs(a.y - b.y); }

struct plan_point streets_between(struct plan_point from, struct plan_point to, double part) {
    struct plan_point corners[CORNERS_MAX];
    size_t count = way(from, to, corners);
    double length = 0;
    for (size_t i = 1; i < count; i++) length += apart(corners[i - 1], corners[i]);
    double left = part * length;
    for (size_t i = 1; i < count; i++) {
        double leg = apart(corners[i - 1], corners[i]);
        if (left < leg) {
            struct plan_point a = corners[i - 1], b = corners[i];
            return (struct plan_point){a.x + (b.x - a.x) * left / leg, a.y + (b.y - a.y) * left / leg};
        }
        left -= leg;
    }
    return to;
}

/* Bent so gently that no two places of the plan meet. */
struct geo_point streets_ground(struct plan_point place) {
    double x = place.x, y = place.y;
    double east_m = x + 900 * sin(y / 3800) + 220 * sin((x + y) / 1500 + 1);
    double north_m = y + 700 * sin(x / 3200 + 0.7) + 170 * sin((x - 2 * y) / 1900);
    double lat = CENTRE_LAT + north_m / METRES_PER_DEGREE;
    double lng = CENTRE_LNG + east_m / (METRES_PER_DEGREE * cos(CENTRE_LAT * M_PI / 180));
    return (struct geo_point){(int32_t)lround(lat * 1e7), (int32_t)lround(lng * 1e7)};
}
