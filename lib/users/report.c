#include "users/report.h"

#include "json/details.h"

enum {
    LOCATION_V1 = 1,
    LOCATION_V1_LACKS = 7 /* bytes at the end: six details that are not said, and that they are not shown */
};

enum { SHARING_V2 = 57, SHARING_V2_LACKS = 1 };

void report_encode(struct buffer *out, const struct location *location) {
    const struct report_details details = {DETAILS_OF(location)};
    size_t before = out->size;
    bool given = details_given(&details);
    bool report = location->kind == LOCATION_REPORT || location->kind == LOCATION_JOIN;
    if (report && (given || (location->shown && location->accuracy >= 0))) {
        event_encode_location(out, location);
        return;
    }
    struct location plain = *location;
    plain.battery = plain.charging = plain.speed = plain.course = plain.vertical_accuracy = plain.activity = -1;
    plain.shown = false;
    event_encode_location(out, &plain);
    event_become_older(out, before, LOCATION_V1, LOCATION_V1_LACKS);
}

void sharing_encode(struct buffer *out, const struct sharing *sharing) {
    size_t before = out->size;
    event_encode_sharing(out, sharing);
    if (!sharing->details) event_become_older(out, before, SHARING_V2, SHARING_V2_LACKS);
}
