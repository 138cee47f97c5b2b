#include "json/place.h"

#include <errno.h>

int json_want_place(const json_t *object, int64_t time_max, struct json_place *place, const char **code,
                    struct error *error) {
    struct json_place read;
    double accuracy = -1;
    *code = "bad_location";
    if (json_want_degrees(object, "lat", 90, &read.lat, error)) return -EINVAL;
    if (json_want_degrees(object, "lng", 180, &read.lng, error)) return -EINVAL;
    *code = "bad_time";
    if (json_want_int(object, "time", 0, time_max, &read.time, error)) return -EINVAL;
    *code = "bad_location";
    if (json_want_real(object, "accuracy", 0, 1e9, &accuracy, error) == -EINVAL) return -EINVAL;
    read.accuracy = (int32_t)accuracy;
    *place = read;
    return 0;
}
