#include "fanout/request.h"

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

static int parse_place(const json_t *object, struct request *request, const char **code, struct error *error) {
    struct json_place place;
    if (json_want_place(object, EVENT_TIME_MAX, &place, code, error)) return -EINVAL;
    request->at = (struct geo_point){place.lat, place.lng};
    request->time = place.time;
    request->accuracy = place.accuracy;
    return 0;
}

static int parse_hello(const json_t *object, struct request *request, const char **code, struct error *error) {
    const char *token;
    *code = "bad_token";
    if (json_want_text(object, "token", &token, error)) return -EINVAL;
    request->token_size = strlen(token);
    if (request->token_size >= REQUEST_TOKEN_MAX) return error_set(error, -EINVAL, "the token is too long");
    memcpy(request->token, token, request->token_size + 1);
    return parse_place(object, request, code, error);
}

static int parse_more(const json_t *object, struct request *request, const char **code, struct error *error) {
    const char *after;
    *code = "bad_cursor";
    request->after = (struct nearby_cursor){-1, -1};
    if (!json_given(object, "after")) return 0;
    if (json_want_text(object, "after", &after, error)) return -EINVAL;
    if (cursor_parse(after, &request->after)) return error_set(error, -EINVAL, "after is not a cursor of this server");
    return 0;
}

int request_parse(const char *text, size_t size, struct request *request, const char **code, struct error *error) {
    const char *type;
    int result;

    *code = "bad_message";
    json_t *object = json_parse(text, size, error);
    if (!object) return -EINVAL;
    if (!json_is_object(object)) {
        result = error_set(error, -EINVAL, "a message is a JSON object");
    } else if (json_want_text(object, "type", &type, error)) {
        result = -EINVAL;
    } else if (strcmp(type, "hello") == 0) {
        request->type = REQUEST_HELLO;
        result = parse_hello(object, request, code, error);
    } else if (strcmp(type, "location") == 0) {
        request->type = REQUEST_LOCATION;
        result = parse_place(object, request, code, error);
    } else if (strcmp(type, "more") == 0) {
        request->type = REQUEST_MORE;
        result = parse_more(object, request, code, error);
    } else {
        *code = "unknown_type";
        result = error_set(error, -EINVAL, "type is none of hello, location, more");
    }
    json_decref(object);
    return result;
}
