#include "fanout/comments/request.h"

#include <errno.h>
#include <string.h>

#include "subjects/subject.h"

static int parse_version(const json_t *message, struct thread_request *request, const char **code,
                         struct error *error) {
    *code = "bad_version";
    if (!json_given(message, "version")) return 0;
    if (json_want_int(message, "version", 0, INT64_MAX, &request->version, error)) return -EINVAL;
    request->has_version = true;
    return 0;
}

int thread_request_parse(const char *type, const json_t *message, struct thread_request *request, const char **code,
                         struct error *error) {
    const char *what;
    struct thread_request parsed = {.watch = strcmp(type, "watch") == 0};
    if (!parsed.watch && strcmp(type, "unwatch") != 0) return -ENOENT;
    if (json_want_text(message, "what", &what, error) || strcmp(what, "comments") != 0) return -ENOENT;
    *code = "bad_subject";
    if (json_want_text(message, "subject", &parsed.subject, error)) return -EINVAL;
    if (!subject_valid(parsed.subject, strlen(parsed.subject)))
        return error_set(error, -EINVAL, "subject is not a type, a colon and an id, such as post:123");
    int result = parsed.watch ? parse_version(message, &parsed, code, error) : 0;
    if (result == 0) *request = parsed;
    return result;
}
