#include "fanout/feed/request.h"

#include <errno.h>
#include <string.h>

static int parse_version(const json_t *message, struct feed_request *request, const char **code, struct error *error) {
    const char *text;
    *code = "bad_version";
    if (!json_given(message, "version")) return 0;
    if (json_want_text(message, "version", &text, error)) return -EINVAL;
    if (!watch_version_read(text, strlen(text), &request->version))
        return error_set(error, -EINVAL, "version is not the version of a page of the feed");
    request->has_version = true;
    return 0;
}

int feed_request_parse(const char *type, const json_t *message, struct feed_request *request, const char **code,
                       struct error *error) {
    const char *what;
    struct feed_request parsed = {.watch = strcmp(type, "watch") == 0};
    if (!parsed.watch && strcmp(type, "unwatch") != 0) return -ENOENT;
    if (json_want_text(message, "what", &what, error)) return -ENOENT;
    parsed.notices = strcmp(what, "notices") == 0;
    if (!parsed.notices && strcmp(what, "feed") != 0) return -ENOENT;
    int result = parsed.watch && !parsed.notices ? parse_version(message, &parsed, code, error) : 0;
    if (result == 0) *request = parsed;
    return result;
}
