#include "cli/box.h"
#include "unit/kit/kit.h"

static bool holds(const char *text, int32_t lat, int32_t lng) {
    struct box box;
    assert_true(box_read(text, &box));
    return box_holds(&box, (struct geo_point){.lat = lat, .lng = lng});
}

TEST(a_box_holds_what_is_within_and_its_edges) {
    assert_true(holds("39.9,116.3,40,116.4", 399000000, 1163000000));
    assert_true(holds("39.9,116.3,40,116.4", 400000000, 1164000000));
    assert_false(holds("39.9,116.3,40,116.4", 398999999, 1163500000));
    assert_false(holds("39.9,116.3,40,116.4", 400000001, 1163500000));
    assert_false(holds("39.9,116.3,40,116.4", 399500000, 1162999999));
    assert_false(holds("39.9,116.3,40,116.4", 399500000, 1164000001));
}

TEST(a_box_may_cross_the_meridian_of_180_degrees) {
    assert_true(holds("-20,170,-10,-170", -150000000, 1790000000));
    assert_true(holds("-20,170,-10,-170", -150000000, -1790000000));
    assert_false(holds("-20,170,-10,-170", -150000000, 0));
}

TEST(what_is_no_box_is_refused) {
    static const char *const WRONG[] = {"",        "1",        "1,2",       "1,2,3",   "1,2,3,4,5", "1,2,,4",
                                        "3,2,1,4", "1,2,91,4", "1,2,3,181", "a,2,3,4", " 1,2,3,4",  "1;2;3;4"};
    struct box box;
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) assert_false(box_read(WRONG[i], &box));
}
