/* Reads what a client wants to post. The owner checks the same once more (feed/rules.h), and calls what fails there a dead letter; so
 * nothing that is refused there may be accepted here. Pure; any thread. */
#pragma once

#include "event/types.h"
#include "json/json.h"

enum {
    POST_BODY_POINTS_MAX = 2000, /* characters of the text */
    POST_BODY_REASON_MAX = 1000, /* of a moderator's reason */
    POST_BODY_MEDIA_MAX = 4,
    POST_BODY_URL_MAX = 2048 /* bytes */
};

struct post_body {
    struct event_text text;
    struct event_text media[POST_BODY_MEDIA_MAX];
    size_t media_count;
    const char *key; /* NULL: the client has given none */
};

/* {text, media?, key?}. NULL: *body points into the object. Else the code of the problem, with the reason in error. */
const char *post_body_read(const json_t *object, struct post_body *body, struct error *error);
