#include "cli/past.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cli/asking.h"
#include "event/topics.h"
#include "json/json.h"

enum { PAGE = 2000, PATIENCE_MS = 10000 };

static int parse_item(const json_t *item, struct past_report *report, struct error *error) {
    int code = json_want_degrees(item, "lat", 90, &report->lat, error);
    if (!code) code = json_want_degrees(item, "lng", 180, &report->lng, error);
    if (!code) code = json_want_int(item, "time", 0, INT64_MAX, &report->time, error);
    if (!code) code = json_want_int(item, "received", INT64_MIN, INT64_MAX, &report->received, error);
    if (code) return code;
    report->accuracy = -1;
    return json_given(item, "accuracy") ? json_want_int(item, "accuracy", 0, INT64_MAX, &report->accuracy, error) : 0;
}

int past_parse(int64_t user, const char *reply, size_t size,
               void (*take)(void *context, const struct past_report *report), void *context, char **next,
               struct error *error) {
    json_t *page = json_parse(reply, size, error);
    const json_t *items = json_object_get(page, "items");
    const char *cursor = NULL;
    int code = page ? 0 : -EBADMSG;
    if (!code && !json_is_array(items)) code = error_set(error, -EBADMSG, "no items");
    for (size_t i = 0; !code && i < json_array_size(items); i++) {
        struct past_report report = {.user = user};
        if (parse_item(json_array_get(items, i), &report, error)) {
            code = -EBADMSG;
        } else {
            take(context, &report);
        }
    }
    if (!code && json_given(page, "next") && json_want_text(page, "next", &cursor, error)) code = -EBADMSG;
    if (!code) *next = mem_string(cursor);
    json_decref(page);
    return code ? error_prefix(error, code, "the history sink's answer cannot be understood") : 0;
}

int past_read(const struct cli *cli, int64_t user, int64_t from_ms, int64_t to_ms,
              void (*take)(void *context, const struct past_report *report), void *context, struct error *error) {
    const struct asking_options options = {
        .cli = cli,
        .group = cli->settings.history_group,
        .topic = &TOPIC_LOCATIONS,
        .who = "history sink",
    };
    struct asking *asking = NULL;
    struct buffer reply = {.data = NULL};
    char *next = NULL; // cursor; NULL: the first page
    int code = asking_new(&options, &asking, error);
    if (code) return code;
    do {
        char *path = mem_format("/peer/history/%" PRId64 "?from=%" PRId64 "&to=%" PRId64 "&limit=%d%s%s", user, from_ms,
                                to_ms, PAGE, next ? "&after=" : "", next ? next : "");
        free(next);
        next = NULL;
        code =
            asking_get(asking, asking_of_user(asking, user), path, PATIENCE_MS, "this user's history", &reply, error);
        free(path);
        if (!code) code = past_parse(user, buffer_cstring(&reply), reply.size, take, context, &next, error);
    } while (!code && next);
    free(next);
    buffer_free(&reply);
    asking_free(asking);
    return code;
}
