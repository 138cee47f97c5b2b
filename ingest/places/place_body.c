#include "ingest/places/place_body.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

static int read_name(const json_t *object, struct event_text *name, struct error *error) {
    const char *text;
    if (json_want_text(object, "name", &text, error)) return -EINVAL;
    *name = (struct event_text){text, strlen(text)};
    if (name->size == 0 || name->size > PLACE_NAME_MAX)
        return error_set(error, -EINVAL, "\"name\" must have 1 to %d bytes", PLACE_NAME_MAX);
    const char *fault = text_name_fault(text, name->size);
    return fault ? error_set(error, -EINVAL, "\"name\" %s", fault) : 0;
}

static int read_circle(const json_t *object, struct place_command *command, struct error *error) {
    int64_t radius;
    if (json_want_lat_lng(object, &command->lat, &command->lng, error)) return -EINVAL;
    if (json_want_int(object, "radius_m", PLACE_RADIUS_MIN_M, PLACE_RADIUS_MAX_M, &radius, error)) return -EINVAL;
    command->radius = (int32_t)radius;
    return 0;
}

static int read_tell(const json_t *object, struct place_command *command, int64_t users[PLACE_TOLD_MAX],
                     struct error *error) {
    static const char WRONG[] = "\"tell\" must be \"me\", \"friends\", or a list of 1 to 50 user ids";
    const char *word = json_string_value(json_object_get(object, "tell"));
    size_t count = 0;
    command->friends = word && strcmp(word, "friends") == 0;
    if (word && !command->friends && strcmp(word, "me") != 0) return error_set(error, -EINVAL, WRONG);
    if (!word && (json_want_ints(object, "tell", 0, INT64_MAX, users, PLACE_TOLD_MAX, &count, NULL) || count == 0))
        return error_set(error, -EINVAL, WRONG);
    command->users = (struct event_longs){.items = users, .count = count};
    return 0;
}

int place_body_read(const json_t *object, struct place_command *command, int64_t users[PLACE_TOLD_MAX],
                    struct error *error) {
    int code = read_name(object, &command->name, error);
    if (!code) code = read_circle(object, command, error);
    return code ? code : read_tell(object, command, users, error);
}
