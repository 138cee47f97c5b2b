/* Reads phones' messages to the nearby screen: the place in a hello, location, and more (docs/PROTOCOL.md). Pure; any thread. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "fanout/nearby/nearby.h"
#include "json/details.h"

struct report { /* where a phone is, or was */
    struct geo_point at;
    int64_t time;
    int32_t accuracy; /* metres; -1: not said */
    struct report_details details;
};

enum nearby_request_type { NEARBY_LOCATION, NEARBY_MORE };

struct nearby_request {
    enum nearby_request_type type;
    struct report report;       /* of a LOCATION */
    struct nearby_cursor after; /* of a MORE */
};

/* 0; -ENOENT: the type is another screen's; -EINVAL with *code the error's name for the phone and the reason in error. */
int nearby_request_parse(const char *type, const json_t *message, struct nearby_request *request, const char **code,
                         struct error *error);

/* A hello's place. 0; -ENOENT: it has none (neither lat nor lng); -EINVAL as above. */
int nearby_hello_parse(const json_t *hello, struct report *report, const char **code, struct error *error);

/* The number of the phone's session before (`session` of its welcome), which a hello may name; 0: it names none that can be read. */
int64_t nearby_hello_before(const json_t *hello);

/* A cursor as the text that goes to the phone and comes back. */
enum { CURSOR_TEXT_MAX = 64 };
void cursor_format(struct nearby_cursor cursor, char text[CURSOR_TEXT_MAX]);
int cursor_parse(const char *text, struct nearby_cursor *cursor);
