#include "ingest/moderation/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { TIMEOUT_MS = 5000, RETRY_AFTER_S = 2 };

struct search_question {
    struct moderation_client *client;
    struct http_request *request;
    char *path;
    int32_t partition; /* of the process that is asked */
    bool again;        /* it is the second one */
    void (*answered)(void *context, struct http_request *request, const json_t *reply);
    void *context;
};

static void question_end(struct search_question *question) {
    free(question->path);
    free(question);
}

/* A partition of another process than the one that was asked; -1: no other process has one. */
static int32_t another(const struct search_question *question) {
    const int32_t *lowest = peers_lowest(question->client->processes);
    int32_t count = question->client->partitions;
    for (int32_t i = 1; i < count; i++) {
        int32_t partition = (question->partition + i) % count;
        if (lowest[partition] != lowest[question->partition]) return partition;
    }
    return -1;
}

static void ask_process(struct search_question *question);

static bool is_code(const json_t *problem, const char *code) {
    const char *text;
    return json_want_text(problem, "code", &text, NULL) == 0 && strcmp(text, code) == 0;
}

/* Answers the request, unless another process may do better. */
static bool settle(const struct search_question *question, int code, unsigned status, const json_t *reply) {
    struct http_request *request = question->request;
    if (code == 0 && status == 200 && json_is_array(json_object_get(reply, "items")))
        question->answered(question->context, request, reply);
    else if (code == 0 && status == 400 && is_code(reply, "no_words"))
        http_problem(request, 400, "no_words", "\"text\" has no word to search for", 0);
    else if (code == 0 && status == 400)
        http_problem(request, 400, "bad_query", "a parameter is out of range, or \"after\" is of no page before", 0);
    else if (code == 0 && is_code(reply, "search_too_slow"))
        http_problem(request, 503, "search_too_slow", "the search took too long: narrow it down, by time or user say",
                     RETRY_AFTER_S);
    else if (question->again || code == -ECANCELED || code == -EHOSTUNREACH || another(question) < 0)
        http_problem(request, 503, "moderation_unavailable", "comments cannot be searched now", RETRY_AFTER_S);
    else
        return false;
    return true;
}

static void heard(void *context, int code, unsigned status, const char *text, size_t size) {
    struct search_question *question = context;
    json_t *reply = code == 0 ? json_parse(text, size, NULL) : NULL;
    if (settle(question, code, status, reply)) {
        question_end(question);
    } else {
        question->partition = another(question);
        question->again = true;
        ask_process(question);
    }
    json_decref(reply);
}

static void ask_process(struct search_question *question) {
    peers_fetch(question->client->processes, question->partition, question->path, TIMEOUT_MS, heard, question);
}

void moderation_client_ask(struct moderation_client *client, const char *path, struct http_request *request,
                           void (*answered)(void *context, struct http_request *request, const json_t *reply),
                           void *context) {
    struct search_question *question = MEM_NEW(&(struct search_question){
        .client = client,
        .request = request,
        .path = mem_string(path),
        .partition = (int32_t)(chance_next(&client->chance) % (uint32_t)client->partitions),
        .answered = answered,
        .context = context,
    });
    ask_process(question);
}
