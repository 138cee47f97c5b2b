/* Asks a gateway over its HTTP API, as a user. Blocking, with a loop of its own; one thread. */
#pragma once

#include "base/buffer.h"
#include "cli/cli.h"

struct api;

struct api_options {
    const struct cli *cli;
    const char *url;   /* NULL: api.url */
    const char *token; /* NULL: one is signed with auth.hs256.key.file */
    int64_t user;
    const char *scope; /* of the token that is signed; NULL: none */
};

int api_new(const struct api_options *options, struct api **api, struct error *error);
void api_free(struct api *api); /* NULL is fine */

const char *api_url(const struct api *api);

/* One request; body NULL: none. 0, with the status, and the answer in reply, which is cleared before; or a negative code. */
int api_ask(struct api *api, const char *method, const char *path, const struct buffer *body, unsigned *status,
            struct buffer *reply);

/* Whether the same request may be answered otherwise in a moment: the gateway or an owner is away, or has not decided yet. */
bool api_may_try_again(int code, unsigned status);
