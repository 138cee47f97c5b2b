#include "users/report.h"

#include "json/details.h"

enum {
    LOCATION_V1 = 1,
    LOCATION_V1_LACKS = 7 /* bytes at the end: six details that are not said, and that they are not shown */
};

enum { SHARING_V2 = 57, SHARING_V2_LACKS = 1 };

/* Places that are said again are for friends only. */
static bool says_more(const struct location *location) {
    const struct report_details details = {DETAILS_OF(location)};
    bool told = location->shown && (location->accuracy >= 0 || details_given(&details));
    switch (location->kind) {
    case LOCATION_REPORT:
    case LOCATION_JOIN: return told || details_given(&details);
    case LOCATION_REJOIN: return told;
    default: return false;
    }
}

void report_encode(struct buffer *out, const struct location *location) {
    size_t before = out->size;
    if (says_more(location)) {
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
