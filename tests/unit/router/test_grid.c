/* The grid against geohashes by bisection; neighbours and the good way outside against comparisons of degrees; the poles and the date line. */
#include "router/grid.h"
#include "unit/kit/kit.h"

static struct geo_point some_point(uint64_t *random) {
    return (struct geo_point){.lat = (int32_t)(hash_u64((*random)++) % 1800000001) - 900000000,
                              .lng = (int32_t)((int64_t)(hash_u64((*random)++) % 3600000001) - 1800000000)};
}

/* The cell's bounds in degrees, as the definition of geohashes has it: halving, longitude first. */
struct bounds {
    double south, north, west, east;
};

static struct bounds geohash_bounds(struct geo_point point, int precision) {
    struct bounds b = {-90, 90, -180, 180};
    for (int bit = 0; bit < 5 * precision; bit++) {
        double *low = bit % 2 ? &b.south : &b.west, *high = bit % 2 ? &b.north : &b.east;
        double middle = (*low + *high) / 2;
        *((bit % 2 ? point.lat : point.lng) / 1e7 >= middle ? low : high) = middle;
    }
    return b;
}

TEST(test_cells_are_those_of_geohashes) {
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        int precision = GRID_PRECISION_MIN + i % (GRID_PRECISION_MAX - GRID_PRECISION_MIN + 1);
        struct grid grid = grid_of(precision);
        struct geo_point point = some_point(&random);
        struct bounds b = geohash_bounds(point, precision);
        struct geo_point centre = grid_centre(&grid, grid_cell(&grid, point));
        assert_true(llabs(centre.lat - (int64_t)((b.south + b.north) / 2 * 1e7)) <= 1);
        assert_true(llabs(centre.lng - (int64_t)((b.west + b.east) / 2 * 1e7)) <= 1);
        assert_true(grid_cell(&grid, centre) == grid_cell(&grid, point));
        assert_float_equal(grid_height(&grid), b.north - b.south, 1e-12);
        assert_float_equal(grid_width(&grid), b.east - b.west, 1e-12);
    }
}

TEST(test_the_ends_of_the_earth_belong_to_the_last_cells) {
    struct grid grid = grid_of(5);
    struct geo_point corner = {900000000, 1800000000}, inside = {899999999, 1799999999};
    assert_true(grid_cell(&grid, corner) == grid_cell(&grid, inside));
}

/* East of a cell by so many degrees, round the Earth: from -180 to 180. */
static double turn_of(double degrees) {
    return degrees > 180 ? degrees - 360 : degrees < -180 ? degrees + 360 : degrees;
}

TEST(test_around_a_cell_are_those_that_touch_it) {
    uint64_t random = 7;
    for (int i = 0; i < 5000; i++) {
        struct grid grid = grid_of(GRID_PRECISION_MIN + i % 6);
        struct geo_point point = some_point(&random);
        if (i % 5 == 0) point.lng = i % 2 ? 1800000000 : -1800000000;
        if (i % 7 == 0) point.lat = i % 2 ? 900000000 : -900000000;
        uint64_t cell = grid_cell(&grid, point), cells[GRID_AROUND];
        struct geo_point centre = grid_centre(&grid, cell);
        bool pole = llabs(centre.lat) / 1e7 + grid_height(&grid) > 90;
        size_t count = grid_around(&grid, cell, cells), itself = 0;
        assert_int_equal(count, pole ? 6 : 9);
        for (size_t a = 0; a < count; a++) {
            struct geo_point other = grid_centre(&grid, cells[a]);
            double north = (other.lat - centre.lat) / 1e7, east = turn_of((other.lng - (double)centre.lng) / 1e7);
            assert_true(north > -1.01 * grid_height(&grid) && north < 1.01 * grid_height(&grid));
            assert_true(east > -1.01 * grid_width(&grid) && east < 1.01 * grid_width(&grid));
            for (size_t b = 0; b < a; b++) assert_true(cells[a] != cells[b]);
            itself += cells[a] == cell;
        }
        assert_int_equal(itself, 1);
    }
}

TEST(test_well_outside_is_an_eighth_of_the_cell) {
    uint64_t random = 99;
    size_t outside = 0, near_the_line = 0;
    for (int i = 0; i < 50000; i++) {
        struct grid grid = grid_of(GRID_PRECISION_MIN + i % 6);
        struct geo_point point = some_point(&random);
        if (i % 5 == 0) point.lng = i % 2 ? 1800000000 : -1800000000;
        uint64_t cell = grid_cell(&grid, point);
        struct geo_point centre = grid_centre(&grid, cell), other = centre;
        double reach = (double)(hash_u64(random++) % 1600) / 1000 - 0.8,
               across = (double)(hash_u64(random++) % 1600) / 1000 - 0.8;
        double lat = centre.lat + reach * grid_height(&grid) * 1e7, lng = centre.lng + across * grid_width(&grid) * 1e7;
        if (lat > 9e8 || lat < -9e8) continue;
        other.lat = (int32_t)lat;
        other.lng = (int32_t)(lng > 1.8e9 ? lng - 3.6e9 : lng < -1.8e9 ? lng + 3.6e9 : lng);
        if ((reach > 0.62 && reach < 0.63) || (across > 0.62 && across < 0.63) || (reach < -0.62 && reach > -0.63) ||
            (across < -0.62 && across > -0.63)) {
            near_the_line++;
            continue;
        }
        bool wanted = reach > 0.625 || reach < -0.625 || across > 0.625 || across < -0.625;
        outside += wanted;
        assert_int_equal(grid_well_outside(&grid, cell, other), wanted);
    }
    assert_true(outside > 5000 && near_the_line < 5000);
}
