#include "tools/load/home_api.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "service/http_client.h"
#include "service/token.h"

enum { TOKEN_TTL_MS = 3600 * 1000, TIMEOUT_MS = 40000, AGAIN_MS = 300 };

struct api_question {
    struct home_api *api;
    struct home_api_request request; /* its texts are the following */
    char *method, *path;
    struct buffer body;
    struct loop_timer *again; /* NULL: not repeated yet */
    struct api_question *previous, *next;
};

struct home_api {
    struct home_api_options options;
    struct http_client *client;
    struct token_issuer *issuer;
    struct api_question *questions;
    size_t under_way, turn; /* turn: of the URLs */
    int64_t heard_us;
    bool closing;
};

int home_api_new(const struct home_api_options *options, struct home_api **out, struct error *error) {
    struct token_issuer *issuer;
    int code = token_issuer_new(options->hs256_key_file, &issuer, error);
    if (code) return code;
    struct home_api *api = MEM_NEW(&(struct home_api){
        .options = *options,
        .client = http_client_new(options->loop),
        .issuer = issuer,
        .heard_us = clock_monotonic_us(),
    });
    *out = api;
    return 0;
}

static void question_end(struct api_question *question, unsigned status, const char *reply, size_t size) {
    struct home_api *api = question->api;
    if (question->next) question->next->previous = question->previous;
    if (question->previous)
        question->previous->next = question->next;
    else
        api->questions = question->next;
    api->under_way--;
    question->request.done(question->request.context, status, reply, size);
    loop_timer_free(question->again);
    buffer_free(&question->body);
    free(question->method);
    free(question->path);
    free(question);
}

static bool undecided(int code, unsigned status) { return code || status == 202 || status == 429 || status >= 500; }

static void ask_again(void *context);

static void on_answer(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct api_question *question = context;
    if (!undecided(code, status)) question->api->heard_us = clock_monotonic_us();
    if (question->api->closing || !question->request.persist || !undecided(code, status)) {
        question_end(question, code ? 0 : status, code ? "" : reply, code ? 0 : size);
        return;
    }
    if (!question->again)
        question->again = loop_timer_new(question->api->options.loop, AGAIN_MS, 0, ask_again, question);
    else
        loop_timer_again(question->again, AGAIN_MS, 0);
}

static void ask(struct api_question *question) {
    struct home_api *api = question->api;
    const struct home_api_request *request = &question->request;
    char *token = token_issue(api->issuer, request->user, NULL, clock_wall_ms() + TOKEN_TTL_MS);
    char *url = mem_format("%s%s", api->options.urls[api->turn++ % api->options.url_count], request->path);
    http_fetch(api->client, request->method, url, token, request->body, TIMEOUT_MS, on_answer, question);
    free(token);
    free(url);
}

static void ask_again(void *context) { ask(context); }

void home_api_ask(struct home_api *api, const struct home_api_request *request) {
    struct api_question *question =
        MEM_NEW(&(struct api_question){.api = api, .request = *request, .next = api->questions});
    question->request.method = question->method = mem_string(request->method);
    question->request.path = question->path = mem_string(request->path);
    if (request->body) {
        buffer_append(&question->body, request->body->data, request->body->size);
        question->request.body = &question->body;
    }
    if (question->next) question->next->previous = question;
    api->questions = question;
    api->under_way++;
    ask(question);
}

void home_api_get(struct home_api *api, int64_t user, const char *path, bool persist,
                  void (*done)(void *context, unsigned status, const char *reply, size_t size), void *context) {
    const struct home_api_request request = {
        .user = user, .method = "GET", .path = path, .persist = persist, .done = done, .context = context};
    home_api_ask(api, &request);
}

size_t home_api_under_way(const struct home_api *api) { return api->under_way; }

int64_t home_api_heard_us(const struct home_api *api) { return api->heard_us; }

void home_api_free(struct home_api *api) {
    if (!api) return;
    api->closing = true;
    http_client_free(api->client);                                 // ends those that were asked
    while (api->questions) question_end(api->questions, 0, "", 0); // and these wait to be asked again
    token_issuer_free(api->issuer);
    free(api);
}
