#include "fanout/request.h"

#include <errno.h>
#include <string.h>

enum { VALUES_MAX = 256 }; /* of a message: most have fewer than ten */

static int parse_hello(struct request *request, const char **code, struct error *error) {
    *code = "bad_token";
    if (json_want_text(request->object, "token", &request->token, error)) return -EINVAL;
    request->token_size = strlen(request->token);
    if (request->token_size >= REQUEST_TOKEN_MAX) return error_set(error, -EINVAL, "the token is too long");
    return 0;
}

int request_parse(const char *text, size_t size, struct request *request, const char **code, struct error *error) {
    struct request parsed = {.object = json_parse_within(text, size, VALUES_MAX, error)};
    int result = 0;

    *code = "bad_message";
    if (!parsed.object) return -EINVAL;
    if (!json_is_object(parsed.object))
        result = error_set(error, -EINVAL, "a message is a JSON object");
    else if (json_want_text(parsed.object, "type", &parsed.type, error))
        result = -EINVAL;
    else if ((parsed.hello = !strcmp(parsed.type, "hello")))
        result = parse_hello(&parsed, code, error);
    if (result)
        json_decref(parsed.object);
    else
        *request = parsed;
    return result;
}

void request_free(struct request *request) { json_decref(request->object); }

int request_unknown(const struct request *request, const char **code, struct error *error) {
    if (strcmp(request->type, "watch") == 0 || strcmp(request->type, "unwatch") == 0) {
        *code = "bad_what";
        return error_set(error, -EINVAL, "what must be feed, comments or notices");
    }
    *code = "unknown_type";
    return error_set(error, -EINVAL, "type must be hello, location, more, watch, unwatch or discover");
}
