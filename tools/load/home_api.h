/* Sends requests of many users to the HTTP API of the gateways, each with a token of its user. Loop's thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/loop.h"

struct home_api;

struct home_api_options {
    uv_loop_t *loop;
    const char *const *urls; /* of gateways, without a path: asked in turn. They must outlive it */
    size_t url_count;
    const char *hs256_key_file;
};

int home_api_new(const struct home_api_options *options, struct home_api **api, struct error *error);
/* Requests under way end with status 0, from within this call. NULL is fine. */
void home_api_free(struct home_api *api);

struct home_api_request {
    int64_t user;
    const char *method, *path;
    const struct buffer *body; /* JSON; NULL: none */
    /* The request is repeated until its outcome is known: not while the answer is 202, 429 or 5xx, or none comes. */
    bool persist;
    /* status 0: no answer. reply is valid during the call. */
    void (*done)(void *context, unsigned status, const char *reply, size_t size);
    void *context;
};

void home_api_ask(struct home_api *api, const struct home_api_request *request); /* copies what it needs */
/* The same for a GET of the path. */
void home_api_get(struct home_api *api, int64_t user, const char *path, bool persist,
                  void (*done)(void *context, unsigned status, const char *reply, size_t size), void *context);

size_t home_api_under_way(const struct home_api *api);

/* The clock_monotonic_us of the last answer that needs no repetition, or of home_api_new if there was none. */
int64_t home_api_heard_us(const struct home_api *api);
