#include "service/http_cors.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/head.h"

static const char SEPARATORS[] = " \t,";

struct http_cors {
    bool all;
    char *origins; /* separated by SEPARATORS */
};

/* scheme://host or scheme://host:port, in small letters, and no more: browsers send nothing else, and compare bytes. */
static bool is_origin(const char *text, size_t size) {
    const char *host = memmem(text, size, "://", 3);
    if (!host || host == text) return false;
    host += 3;
    size_t rest = size - (size_t)(host - text);
    if (!rest || host[0] == ':') return false;
    for (size_t i = 0; i < size; i++)
        if (isupper((unsigned char)text[i]) || text[i] <= ' ' || text[i] > '~' || strchr("?#@*", text[i])) return false;
    return !memchr(host, '/', rest);
}

int http_cors_new(const char *origins, struct http_cors **cors, struct error *error) {
    struct http_cors made = {.all = false};
    size_t count = 0;
    for (const char *at = origins + strspn(origins, SEPARATORS); *at; at += strspn(at, SEPARATORS)) {
        size_t size = strcspn(at, SEPARATORS);
        bool all = size == 1 && *at == '*';
        if (!all && !is_origin(at, size))
            return error_set(error, -EINVAL,
                             "\"%.*s\" is no origin: scheme://host or scheme://host:port in small letters is wanted",
                             (int)size, at);
        made.all |= all;
        count++;
        at += size;
    }
    if (!count) {
        *cors = NULL;
        return 0;
    }
    *cors = mem_alloc(sizeof **cors);
    made.origins = mem_string(origins);
    **cors = made;
    return 0;
}

void http_cors_free(struct http_cors *cors) {
    if (!cors) return;
    free(cors->origins);
    free(cors);
}

static bool allows(const struct http_cors *cors, const char *origin) {
    if (cors->all) return true;
    size_t wanted = strlen(origin);
    for (const char *at = cors->origins + strspn(cors->origins, SEPARATORS); *at; at += strspn(at, SEPARATORS)) {
        size_t size = strcspn(at, SEPARATORS);
        if (size == wanted && !memcmp(at, origin, size)) return true;
        at += size;
    }
    return false;
}

void http_cors_put(const struct http_cors *cors, const char *origin, struct buffer *fields) {
    if (!cors) return;
    // An answer that a cache keeps must not go from one origin to another.
    if (!cors->all) http_put_field(fields, "Vary", "Origin");
    if (!origin || !allows(cors, origin)) return;
    http_put_field(fields, "Access-Control-Allow-Origin", cors->all ? "*" : origin);
    http_put_field(fields, "Access-Control-Expose-Headers", "ETag, Retry-After, Location, Allow, Link");
}

void http_cors_put_preflight(const struct http_cors *cors, const char *origin, const char *allowed,
                             struct buffer *fields) {
    if (!cors || !origin || !allows(cors, origin)) return;
    http_put_field(fields, "Access-Control-Allow-Methods", allowed);
    // Browsers do not count Authorization to "*".
    http_put_field(fields, "Access-Control-Allow-Headers", "Authorization, Content-Type, If-None-Match, traceparent");
    http_put_field(fields, "Access-Control-Max-Age", "600");
}
