#include "json/place.h"

#include <errno.h>
#include <inttypes.h>

enum { AHEAD_MAX_MS = 60000, DAY_MS = 24 * 3600 * 1000 };

int json_want_place(const json_t *object, int64_t time_max, struct json_place *place, const char **code,
                    struct error *error) {
    struct json_place read;
    double accuracy = -1;
    *code = "bad_location";
    if (json_want_lat_lng(object, &read.lat, &read.lng, error)) return -EINVAL;
    *code = "bad_time";
    if (json_want_int(object, "time", 0, time_max, &read.time, error)) return -EINVAL;
    *code = "bad_location";
    if (json_want_real(object, "accuracy", 0, PLACE_ACCURACY_MAX, &accuracy, error) == -EINVAL) return -EINVAL;
    read.accuracy = (int32_t)accuracy;
    *code = "bad_details";
    if (json_want_details(object, &read.details, error)) return -EINVAL;
    *place = read;
    return 0;
}

int place_check_time(const struct place_times *times, int64_t time, int64_t now, struct error *error) {
    if (times->any) return 0;
    if (time > now + AHEAD_MAX_MS)
        return error_set(error, -EINVAL, "\"time\" is ahead of the server's by more than a minute");
    if (!times->past_days || time >= now - times->past_days * DAY_MS) return 0;
    return error_set(error, -EINVAL,
                     "\"time\" is more than %" PRId64
                     " days ago; it counts milliseconds since 1970, and is now %" PRId64,
                     times->past_days, now);
}

void place_cap_time(const struct place_times *times, int64_t *time, int64_t *now) {
    if (!times->any && *time > *now) *time = (*now)--;
}
