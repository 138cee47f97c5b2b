#include "ingest/call.h"

#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "ids/ids.h"

enum {
    QUOTED_MAX = 40, /* bytes */
    VALUES_MAX = 256 /* of a body: most have fewer than ten */
};

json_t *call_body(const struct call *call) { return call_body_within(call, VALUES_MAX); }

json_t *call_body_within(const struct call *call, size_t values) {
    size_t size;
    struct error error;
    const void *text = http_body(call->request, &size);
    json_t *object = json_parse_within(text, size, values, &error);
    if (object && json_is_object(object)) return object;
    http_problem(call->request, 400, "bad_message", object ? "the body must be a JSON object" : error.text, 0);
    json_decref(object);
    return NULL;
}

/* A value of the query string as a reason quotes it: escaped, and shortened if it is long. Only whole numbers are asked for so, no secrets. */
static void quote_value(struct buffer *out, const char *text) {
    size_t size = strlen(text), shown = 0;
    while (shown < size && shown < QUOTED_MAX) {
        size_t character = text_utf8_length(text + shown, size - shown);
        shown += character ? character : 1;
    }
    text_quote(out, text, shown);
    if (shown < size) buffer_string(out, "...");
}

bool call_query_int(const struct call *call, const char *name, int64_t *value) {
    return call_query_range(call, name, 0, INT64_MAX, value);
}

bool call_query_range(const struct call *call, const char *name, int64_t min, int64_t max, int64_t *value) {
    const char *text = http_query(call->request, name);
    int64_t number;
    if (!text) return true;
    if (text_number(text, strlen(text), max, &number) && number >= min) {
        *value = number;
        return true;
    }
    struct error error;
    struct buffer quoted = {.data = NULL};
    quote_value(&quoted, text);
    if (max == INT64_MAX)
        error_set(&error, 0, "\"%s\" is %s, but must be a whole number from %" PRId64, name, buffer_cstring(&quoted),
                  min);
    else
        error_set(&error, 0, "\"%s\" is %s, but must be a whole number from %" PRId64 " to %" PRId64, name,
                  buffer_cstring(&quoted), min, max);
    buffer_free(&quoted);
    http_problem(call->request, 400, "bad_query", error.text, 0);
    return false;
}

bool call_query_times(const struct call *call, int64_t *from, int64_t *to) {
    if (!call_query_int(call, "from", from) || !call_query_int(call, "to", to)) return false;
    if (*from <= *to) return true;
    struct error error;
    error_set(&error, 0, "\"from\" is %" PRId64 ", but must not be after \"to\", which is %" PRId64, *from, *to);
    http_problem(call->request, 400, "bad_query", error.text, 0);
    return false;
}

bool call_query_id(const struct call *call, const char *name, int64_t *id) {
    const char *text = http_query(call->request, name);
    if (!text || ids_parse(text, strlen(text), id)) return true;
    struct error error;
    error_set(&error, 0, "\"%s\" must be the `next` of a page before", name);
    http_problem(call->request, 400, "bad_query", error.text, 0);
    return false;
}

bool call_query_ids_of_times(const struct call *call, struct id_range *range) {
    int64_t from = 0, to = INT64_MAX, after = INT64_MAX;
    if (!call_query_times(call, &from, &to) || !call_query_id(call, "after", &after)) return false;
    int64_t first = ids_first_at(from), end = ids_first_at(to);
    *range = (struct id_range){.above = first ? first - 1 : 0, .before = end < after ? end : after};
    return true;
}
