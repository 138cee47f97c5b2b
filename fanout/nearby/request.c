#include "fanout/nearby/request.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/types.h"
#include "json/place.h"

void cursor_format(struct nearby_cursor cursor, char text[CURSOR_TEXT_MAX]) {
    snprintf(text, CURSOR_TEXT_MAX, "%a_%" PRId64, cursor.distance_m, cursor.user);
}

int cursor_parse(const char *text, struct nearby_cursor *cursor) {
    char *end;
    errno = 0;
    double distance = strtod(text, &end);
    if (end == text || *end != '_' || !isfinite(distance)) return -EINVAL;
    char *number = end + 1;
    int64_t user = strtoll(number, &end, 10);
    if (end == number || *end || errno) return -EINVAL;
    *cursor = (struct nearby_cursor){.distance_m = distance, .user = user};
    return 0;
}

static int parse_report(const json_t *object, struct report *report, const char **code, struct error *error) {
    struct json_place place;
    if (json_want_place(object, EVENT_TIME_MAX, &place, code, error)) return -EINVAL;
    *report = (struct report){
        .at = {place.lat, place.lng}, .time = place.time, .accuracy = place.accuracy, .details = place.details};
    return 0;
}

static int parse_more(const json_t *object, struct nearby_cursor *cursor, const char **code, struct error *error) {
    const char *after;
    *code = "bad_cursor";
    *cursor = (struct nearby_cursor){-1, -1};
    if (!json_given(object, "after")) return 0;
    if (json_want_text(object, "after", &after, error)) return -EINVAL;
    if (cursor_parse(after, cursor)) return error_set(error, -EINVAL, "after is not a cursor of this server");
    return 0;
}

int nearby_request_parse(const char *type, const json_t *message, struct nearby_request *request, const char **code,
                         struct error *error) {
    if (strcmp(type, "location") == 0) {
        request->type = NEARBY_LOCATION;
        return parse_report(message, &request->report, code, error);
    }
    if (strcmp(type, "more") == 0) {
        request->type = NEARBY_MORE;
        return parse_more(message, &request->after, code, error);
    }
    return -ENOENT;
}

int nearby_hello_parse(const json_t *hello, struct report *report, const char **code, struct error *error) {
    if (!json_object_get(hello, "lat") && !json_object_get(hello, "lng")) return -ENOENT;
    return parse_report(hello, report, code, error);
}

int64_t nearby_hello_before(const json_t *hello) {
    const char *text;
    char *end;
    if (!json_given(hello, "before") || json_want_text(hello, "before", &text, NULL)) return 0;
    errno = 0;
    int64_t number = strtoll(text, &end, 10);
    return end == text || *end || errno || number < 0 ? 0 : number;
}
