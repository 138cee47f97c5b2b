/* Answers from files. Loop's thread. */
#ifndef SERVICE_HTTP_FILE_H
#define SERVICE_HTTP_FILE_H

#include "service/http_reply.h"
#include "service/http_request.h"

/* A static file under root; refuses what leaves it; If-None-Match/ETag; index.html for "/"; 404 problem if absent. field: a further
 * header, or NULL. */
void http_reply_file(struct http_request *request, const char *root, const char *path, const struct http_field *field);

#endif
