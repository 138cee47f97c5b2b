/* Tests report.c. */
#include "base/bytes.h"
#include "event/codec.h"
#include "json/details.h"
#include "unit/kit/kit.h"
#include "users/report.h"

enum { V1 = 1, NEWEST = LOCATION_SCHEMA_ID };

/* What is read back, and the version that it was written in. */
static struct location written(const struct location *location, uint32_t *id) {
    FREED_BUFFER value = {.size = 0};
    struct location read;
    struct error error;
    report_encode(&value, location);
    *id = bytes_get_be32(value.data + 1);
    assert_int_equal(event_decode_location(kit_codec(), value.data, value.size, &read, &error), 0);
    return read;
}

static void is_written_as(struct location location, uint32_t expected) {
    uint32_t id;
    struct location read = written(&location, &id);
    assert_int_equal(id, expected);
    assert_int_equal(read.accuracy, location.accuracy);
    assert_int_equal(read.battery, expected == V1 ? -1 : location.battery);
    assert_int_equal(read.activity, expected == V1 ? -1 : location.activity);
    assert_int_equal(read.shown, expected != V1 && location.shown);
}

TEST(what_says_no_more_is_written_as_version_1) {
    const struct location plain = {.user = 7, .kind = LOCATION_REPORT, .route = -1, .accuracy = 12, DETAILS_NONE};
    struct location location = plain;
    is_written_as(plain, V1);
    location.battery = 0;
    is_written_as(location, NEWEST);
    location.kind = LOCATION_JOIN;
    is_written_as(location, NEWEST);
    location.kind = LOCATION_REJOIN; // places that are said again are for friends only
    is_written_as(location, V1);
    location.shown = true;
    is_written_as(location, NEWEST);
    location.kind = LOCATION_QUIT;
    is_written_as(location, V1);
    location = plain;
    location.activity = 3;
    is_written_as(location, NEWEST);
}

TEST(accuracy_is_a_detail_where_it_is_shown) {
    struct location location = {.kind = LOCATION_REPORT, .accuracy = 12, DETAILS_NONE, .shown = true};
    is_written_as(location, NEWEST);
    location.accuracy = -1; // there is nothing to show
    is_written_as(location, V1);
}
