/* Reads the messages of phones about live threads (docs/PROTOCOL.md). Pure. */
#pragma once

#include <stdbool.h>

#include "json/json.h"

struct thread_request {
    bool watch;          /* else: unwatch */
    const char *subject; /* valid; belongs to the message */
    bool has_version;    /* watch: of the page that the phone has */
    int64_t version;
};

/* 0; -ENOENT: the message is of another type; -EINVAL with *code the error's name for the phone. */
int thread_request_parse(const char *type, const json_t *message, struct thread_request *request, const char **code,
                         struct error *error);
