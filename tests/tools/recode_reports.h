/* Shows reports of places as JSON, each field followed by ", ". Part of recode.c. */
#pragma once

#include "event/codec.h"
#include "showing.h"

#define PUT_DETAILS(out, record)                                                                                       \
    do {                                                                                                               \
        put_long(out, "battery", (record)->battery);                                                                   \
        put_long(out, "charging", (record)->charging);                                                                 \
        put_long(out, "speed", (record)->speed);                                                                       \
        put_long(out, "course", (record)->course);                                                                     \
        put_long(out, "vertical_accuracy", (record)->vertical_accuracy);                                               \
        put_long(out, "activity", (record)->activity);                                                                 \
    } while (0)

static void show_location_reports(struct buffer *out, const struct location_reports *record) {
    buffer_string(out, "\"reports\": [");
    for (size_t i = 0; i < record->reports.count; i++) {
        const struct reported_location *report = &record->reports.items[i];
        buffer_string(out, i ? ", {" : "{");
        put_long(out, "user", report->user);
        put_long(out, "lat", report->lat);
        put_long(out, "lng", report->lng);
        put_long(out, "time", report->time);
        put_long(out, "accuracy", report->accuracy);
        PUT_DETAILS(out, report);
        close_object(out);
    }
    buffer_string(out, "], ");
}
