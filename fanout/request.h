/* What phones say: the client's frames of starling.v1, parsed and checked (docs/PROTOCOL.md). Pure; any thread. */
#ifndef FANOUT_REQUEST_H
#define FANOUT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fanout/nearby.h"

enum request_type { REQUEST_HELLO, REQUEST_LOCATION, REQUEST_MORE };

enum { REQUEST_TOKEN_MAX = 4096 };

struct request {
    enum request_type type;
    struct geo_point at; /* HELLO, LOCATION */
    int64_t time;
    int32_t accuracy;           /* metres; -1: not said */
    struct nearby_cursor after; /* MORE */
    size_t token_size;          /* HELLO */
    char token[REQUEST_TOKEN_MAX];
};

/* 0, or -EINVAL with *code the error's name for the phone and the reason in error. */
int request_parse(const char *text, size_t size, struct request *request, const char **code, struct error *error);

/* A cursor as the text that goes to the phone and comes back. */
enum { CURSOR_TEXT_MAX = 64 };
void cursor_format(struct nearby_cursor cursor, char text[CURSOR_TEXT_MAX]);
int cursor_parse(const char *text, struct nearby_cursor *cursor);

#endif
