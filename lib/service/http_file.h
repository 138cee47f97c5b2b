/* Answers from files. Loop's thread. */
#pragma once

#include <stdbool.h>

#include "service/http_reply.h"
#include "service/http_request.h"

struct http_file_how {
    const struct http_field *field; /* a further header, or NULL */
    const char
        *absent;    /* of root: people who ask for what is not there get it, with 404; NULL: they get a problem, too */
    bool immutable; /* the path names the content, so that clients keep it for good */
};

/* A static file under root; refuses what leaves it; If-None-Match/ETag; index.html for "/"; 404 problem if absent. Text is packed: the
 * file with .br or .gz behind its name is sent where there is one that is no older, else up to HTTP_GZIP_STEP bytes are packed for each
 * request. More would let anybody who asks keep the loop busy. */
void http_reply_file(struct http_request *request, const char *root, const char *path, const struct http_file_how *how);
