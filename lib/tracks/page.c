#include "tracks/page.h"

#include <errno.h>

#include "base/mem.h"
#include "json/json.h"

static int parse_item(const json_t *item, struct track_report *report, struct error *error) {
    int code = json_want_lat_lng(item, &report->lat, &report->lng, error);
    if (!code) code = json_want_int(item, "time", 0, INT64_MAX, &report->time, error);
    if (!code) code = json_want_int(item, "received", INT64_MIN, INT64_MAX, &report->received, error);
    if (code) return code;
    if (json_want_details(item, &report->details, error)) return -EINVAL;
    report->accuracy = -1;
    return json_given(item, "accuracy") ? json_want_int(item, "accuracy", 0, INT64_MAX, &report->accuracy, error) : 0;
}

int track_page_read(int64_t user, const char *reply, size_t size,
                    void (*take)(void *context, const struct track_report *report), void *context, char **next,
                    struct error *error) {
    json_t *page = json_parse(reply, size, error);
    const json_t *items = json_object_get(page, "items");
    const char *cursor = NULL;
    int code = page ? 0 : -EBADMSG;
    if (!code && !json_is_array(items)) code = error_set(error, -EBADMSG, "no items");
    for (size_t i = 0; !code && i < json_array_size(items); i++) {
        struct track_report report = {.user = user};
        if (parse_item(json_array_get(items, i), &report, error))
            code = -EBADMSG;
        else
            take(context, &report);
    }
    if (!code && json_given(page, "next") && json_want_text(page, "next", &cursor, error)) code = -EBADMSG;
    if (!code) *next = mem_string(cursor);
    json_decref(page);
    return code ? error_prefix(error, code, "the history sink's answer cannot be understood") : 0;
}
