/* Entity tags: what a client gives back in If-None-Match, to be told that it has the newest answer already. */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "service/http_request.h"

/* A list of If-None-Match holds the tag, compared weakly, or is "*". NULL: false. Pure; any thread. */
bool http_tag_matches(const char *list, const char *tag);

/* Answers 200 with JSON and a weak tag made of the body's bytes; or 304 if the client has that body already. Loop's thread. */
void http_reply_tagged(struct http_request *request, const struct buffer *body);
