#include "service/http_tag.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "service/http_connection.h"
#include "service/http_reply.h"

/* Without W/. */
static const char *opaque(const char *tag) { return strncmp(tag, "W/", 2) == 0 ? tag + 2 : tag; }

bool http_tag_matches(const char *list, const char *tag) {
    const char *wanted = opaque(tag);
    size_t size = strlen(wanted);
    if (!list) return false;
    while (*list) {
        list += strspn(list, " \t,");
        const char *given = opaque(list);
        if (*given == '*') return true;
        if (strncmp(given, wanted, size) == 0 && strchr(" \t,", given[size])) return true;
        const char *end = *given == '"' ? strchr(given + 1, '"') : NULL;
        list = end ? end + 1 : given + strcspn(given, ",");
    }
    return false;
}

void http_reply_tagged(struct http_request *request, const struct buffer *body) {
    // The key is the same in all processes: a client may ask another one the next time. Nobody gains by finding two bodies of one hash.
    static const uint8_t KEY[16] = "starling etags";
    char tag[32];
    snprintf(tag, sizeof tag, "W/\"%016" PRIx64 "\"", hash_sip(KEY, body->data, body->size));
    static const char TYPE[] = "application/json";
    const struct http_field fields[] = {
        {"Cache-Control", "private, no-cache"}, {"ETag", tag}, {"Vary", "Accept-Encoding"}};
    if (http_tag_matches(http_header(request, "If-None-Match"), tag)) {
        bool varies = http_gzip_varies(http_connection_gzip(request->connection), TYPE, body->size);
        http_reply(request, 304, NULL, NULL, 0, fields, varies ? 3 : 2);
    } else {
        http_reply(request, 200, TYPE, body->data, body->size, fields, 2); // with Vary of its own
    }
}
