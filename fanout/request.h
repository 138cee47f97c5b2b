/* Reads phones' messages as far as the core understands them: a JSON object with a type, and the token of a hello. The rest is
 * the screens' (docs/PROTOCOL.md). Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "json/json.h"

enum { REQUEST_TOKEN_MAX = 4096 };

struct request { /* texts point into the object */
    json_t *object;
    const char *type;
    bool hello;
    const char *token; /* of a hello */
    size_t token_size;
};

/* 0: the object is the caller's to free (request_free). -EINVAL with *code the error's name for the phone and the reason in
 * error. */
int request_parse(const char *text, size_t size, struct request *request, const char **code, struct error *error);
void request_free(struct request *request);

/* Refuses a message that is no screen's: its type is unknown, or it wants to watch what nobody can. -EINVAL, with *code and error as
 * above. */
int request_unknown(const struct request *request, const char **code, struct error *error);
