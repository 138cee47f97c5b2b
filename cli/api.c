#include "cli/api.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "service/http_client.h"
#include "service/token.h"

enum { TIMEOUT_MS = 40000, TOKEN_TTL_MS = 3600 * 1000 };

struct api {
    struct api_options options;
    uv_loop_t loop;
    struct http_client *client;
    struct token_issuer *issuer;
    bool done; /* the request that is under way */
    int code;
    unsigned status;
    struct buffer *reply;
};

int api_new(const struct api_options *options, struct api **out, struct error *error) {
    struct token_issuer *issuer = NULL;
    const char *file = options->cli->settings.hs256_key_file;
    if (!options->token && !*file)
        return error_set(error, -EINVAL, "neither --token nor auth.hs256.key.file, to sign one, is given");
    int code = options->token ? 0 : token_issuer_new(file, &issuer, error);
    if (code) return code;
    struct api *api = MEM_NEW(&(struct api){.options = *options, .issuer = issuer});
    if (!api->options.url) api->options.url = options->cli->settings.api_url;
    if (uv_loop_init(&api->loop)) {
        token_issuer_free(issuer);
        free(api);
        return error_set(error, -EMFILE, "no event loop can be made: too few descriptors");
    }
    api->client = http_client_new(&api->loop);
    *out = api;
    return 0;
}

void api_free(struct api *api) {
    if (!api) return;
    http_client_free(api->client);
    uv_run(&api->loop, UV_RUN_DEFAULT);
    uv_loop_close(&api->loop);
    token_issuer_free(api->issuer);
    free(api);
}

const char *api_url(const struct api *api) { return api->options.url; }

static void answered(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct api *api = context;
    api->done = true;
    api->code = code;
    api->status = status;
    if (!code) buffer_append(api->reply, reply, size);
}

int api_ask(struct api *api, const char *method, const char *path, const struct buffer *body, unsigned *status,
            struct buffer *reply) {
    const struct api_options *options = &api->options;
    char *made =
        options->token ? NULL : token_issue(api->issuer, options->user, options->scope, clock_wall_ms() + TOKEN_TTL_MS);
    char *url = mem_format("%s%s", options->url, path);
    buffer_clear(reply);
    api->done = false;
    api->reply = reply;
    http_fetch(api->client, method, url, made ? made : options->token, body, TIMEOUT_MS, answered, api);
    while (!api->done) uv_run(&api->loop, UV_RUN_ONCE);
    free(made);
    free(url);
    *status = api->status;
    return api->code;
}

bool api_may_try_again(int code, unsigned status) { return code || status == 202 || status == 429 || status >= 500; }
