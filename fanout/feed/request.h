/* Reads the messages of phones about live feeds and notices (docs/PROTOCOL.md). Pure. */
#pragma once

#include <stdbool.h>

#include "json/json.h"
#include "watch/watch.h"

struct feed_request {
    bool watch;       /* else: unwatch */
    bool notices;     /* else: the feed */
    bool has_version; /* watch, of the feed: of the page that the phone has */
    struct watch_version version;
};

/* 0; -ENOENT: the message is of another type; -EINVAL with *code the error's name for the phone. */
int feed_request_parse(const char *type, const json_t *message, struct feed_request *request, const char **code,
                       struct error *error);
