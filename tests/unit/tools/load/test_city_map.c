/* Tests city_map.c and streets.c. The invented city's map, and that people are on its streets wherever they walk. */
#include <math.h>

#include "json/json.h"
#include "tools/load/city.h"
#include "tools/load/city_map.h"
#include "unit/kit/kit.h"

enum { PEOPLE = 40, TIMES = 10, APART_MS = 97123, NEAR_M = 4, FAR_M = 400, FASTEST_M_S = 250 };

static const double METRES_LAT = 111195.08, METRES_LNG = 67665.0; /* a degree of each in that city */

struct segment {
    double ax, ay, bx, by; /* metres */
};

struct fixture {
    json_t *map;
    struct segment *roads;
    size_t road_count;
};

static double easting(double lng) { return (lng - 13.405) * METRES_LNG; }
static double northing(double lat) { return (lat - 52.52) * METRES_LAT; }
static double number(const json_t *array, size_t index) { return json_number_value(json_array_get(array, index)); }

static const char *tag(const json_t *feature, const char *key) {
    return json_string_value(json_object_get(json_object_get(feature, "properties"), key));
}

static json_t *coordinates(const json_t *feature) {
    return json_object_get(json_object_get(feature, "geometry"), "coordinates");
}

static void add_road(struct fixture *f, const json_t *line) {
    for (size_t i = 1; i < json_array_size(line); i++) {
        const json_t *a = json_array_get(line, i - 1), *b = json_array_get(line, i);
        f->roads = mem_resize(f->roads, f->road_count + 1, sizeof *f->roads);
        f->roads[f->road_count++] = (struct segment){easting(number(a, 0)), northing(number(a, 1)),
                                                     easting(number(b, 0)), northing(number(b, 1))};
    }
}

SET_UP_ONCE() {
    struct fixture *f = kit_zero(sizeof *f);
    FREED_BUFFER text = {.size = 0};
    size_t i;
    const json_t *feature;
    city_map_put(&text);
    f->map = json_parse(text.data, text.size, &failure);
    assert_non_null(f->map);
    json_array_foreach(json_object_get(f->map, "features"), i, feature) {
        if (tag(feature, "highway")) add_road(f, coordinates(feature));
    }
    return f;
}

TEAR_DOWN(struct fixture *f) {
    json_decref(f->map);
    free(f->roads);
}

static double from_segment(const struct segment *s, double x, double y) {
    if (fabs(x - s->ax) > FAR_M || fabs(y - s->ay) > FAR_M) return INFINITY; /* no segment is that long */
    double dx = s->bx - s->ax, dy = s->by - s->ay, square = dx * dx + dy * dy;
    double part = square > 0 ? fmax(0, fmin(1, ((x - s->ax) * dx + (y - s->ay) * dy) / square)) : 0;
    return hypot(x - s->ax - part * dx, y - s->ay - part * dy);
}

static double from_road(const struct fixture *f, struct geo_point at) {
    double x = easting(at.lng / 1e7), y = northing(at.lat / 1e7), nearest = INFINITY;
    for (size_t i = 0; i < f->road_count; i++) nearest = fmin(nearest, from_segment(&f->roads[i], x, y));
    return nearest;
}

TEST(test_people_are_on_streets, const struct fixture *f) {
    struct city *city = city_new(PEOPLE, 1);
    int moved = 0;
    for (int64_t user = 1; user <= PEOPLE; user++) {
        for (int64_t i = 0; i < TIMES; i++) {
            struct geo_point at = city_place(city, user, i * APART_MS);
            struct geo_point soon = city_place(city, user, i * APART_MS + 1000);
            if (from_road(f, at) > NEAR_M) fail_msg("user %d is %.1f m off", (int)user, from_road(f, at));
            assert_true(geo_distance(at, soon) < FASTEST_M_S);
            moved += geo_distance(at, soon) > 1;
        }
    }
    assert_in_range(moved, PEOPLE * TIMES / 4, PEOPLE * TIMES * 3 / 4); /* half of the time they stay where they are */
    city_free(city);
}

/* The ring is closed, every place is in range, and the kinds that the page draws are there. */
TEST(test_the_map_is_geojson, const struct fixture *f) {
    size_t i, parks = 0, water = 0, places = 0;
    const json_t *feature;
    assert_string_equal(json_string_value(json_object_get(f->map, "type")), "FeatureCollection");
    json_array_foreach(json_object_get(f->map, "features"), i, feature) {
        const char *kind = json_string_value(json_object_get(json_object_get(feature, "geometry"), "type"));
        if (!strcmp(kind, "Polygon")) {
            const json_t *ring = json_array_get(coordinates(feature), 0);
            assert_true(json_array_size(ring) >= 4);
            assert_true(json_equal(json_array_get(ring, 0), json_array_get(ring, json_array_size(ring) - 1)));
        } else if (!strcmp(kind, "LineString"))
            assert_true(json_array_size(coordinates(feature)) >= 2);
        else
            assert_string_equal(kind, "Point");
        parks += tag(feature, "leisure") != NULL;
        water += tag(feature, "natural") && !strcmp(tag(feature, "natural"), "water");
        places += tag(feature, "place") != NULL;
    }
    assert_true(parks > 10 && water > 5 && places > 10);
}

TEST(test_the_map_is_always_the_same) {
    FREED_BUFFER once = {.size = 0}, again = {.size = 0};
    city_map_put(&once);
    city_map_put(&again);
    assert_int_equal(once.size, again.size);
    assert_memory_equal(once.data, again.data, once.size);
    assert_true(once.size < 700000); /* a page loads it */
}
