#include "rpc/serve.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"

/* ---- refusals ---- */

bool rpc_refused(struct http_request *request, int code) {
    if (code == -ESTALE || code == -ECANCELED)
        http_problem(request, 421, "not-the-owner", "another process owns this key", 0);
    else if (code == -EMSGSIZE)
        http_problem(request, 413, "too-large", "what the command would change is too large for its topic", 0);
    else if (code)
        http_problem(request, 503, "restoring", "this key's state is being restored", 1);
    return code;
}

void rpc_bad_query(struct http_request *request) {
    http_problem(request, 400, "bad-query", "a value is missing or out of range", 0);
}

void rpc_later(struct http_request *request) { http_reply(request, 202, "application/json", "{}", 2, NULL, 0); }

void rpc_failed(struct http_request *request, int code, const struct error *error) {
    if (code == -EBADMSG)
        rpc_refused(request, code);
    else
        http_problem(request, 500, "store", error->text, 0);
}

/* ---- questions that are read ---- */

/* Moves *at behind the part. */
static bool read_part(const char **at, enum rpc_arg part, struct rpc_asked *asked) {
    if (*(*at)++ != '/') return false;
    if (part == RPC_SUBJECT) return subject_of_path(at, asked->subject);
    size_t size = strcspn(*at, "/");
    if (!text_number(*at, size, INT64_MAX, &asked->numbers[part])) return false;
    *at += size;
    return true;
}

static int read_path(const struct rpc_question *question, const char *path, struct rpc_asked *asked) {
    static const char PEER[] = "/peer/";
    size_t start = strlen(question->start), peer = sizeof PEER - 1;
    if (strncmp(path, PEER, peer) || strncmp(path + peer, question->start, start)) return -ENOENT;
    path += peer + start;
    if (*path && *path != '/') return -ENOENT;
    *asked = (struct rpc_asked){.question = question};
    for (size_t i = 0; i < RPC_PARTS_MAX && question->parts[i]; i++)
        if (!read_part(&path, question->parts[i], asked)) return -EDOM;
    bool same = question->parts[0] == RPC_ONE && asked->numbers[RPC_ONE] == asked->numbers[RPC_OTHER];
    return *path || same ? -EDOM : 0;
}

static bool read_argument(const struct rpc_rule *rule, const char *text, struct rpc_asked *asked) {
    int64_t size = text ? (int64_t)strlen(text) : 0, *number = &asked->numbers[rule->arg];
    asked->texts[rule->arg] = text;
    if (rule->kind != RPC_NUMBERS) return size >= rule->min && size <= rule->max;
    *number = rule->absent;
    return (!text || text_number(text, (size_t)size, rule->max, number)) && *number >= rule->min;
}

static int32_t partition_of(const struct rpc_asked *asked, int32_t partitions) {
    int64_t one = asked->numbers[RPC_ONE], other = asked->numbers[RPC_OTHER], number = asked->numbers[RPC_PARTITION];
    switch (asked->question->parts[0]) {
    case RPC_USER: return hash_user_partition(asked->numbers[RPC_USER], partitions);
    case RPC_ONE: return hash_user_partition(one < other ? one : other, partitions);
    case RPC_SUBJECT: return hash_partition(asked->subject, strlen(asked->subject), partitions);
    case RPC_PARTITION: return number < INT32_MAX ? (int32_t)number : INT32_MAX;
    default: return -1;
    }
}

int rpc_read(const struct rpc_question *question, const struct http_request *request, int32_t partitions,
             struct rpc_asked *asked) {
    int code = read_path(question, http_path(request), asked);
    if (code) return code;
    asked->partition = partition_of(asked, partitions);
    for (const struct rpc_rule *rule = question->rules; rule < question->rules + RPC_RULES_MAX && rule->arg; rule++)
        if (!read_argument(rule, http_query(request, RPC_NAMES[rule->arg]), asked)) return -EINVAL;
    return 0;
}

void rpc_serve(const struct rpc_server *server, void *context, int32_t partitions, struct http_request *request) {
    struct rpc_asked asked;
    int code = -ENOENT, serves;
    size_t i = 0;
    if (strcmp(http_method(request), "GET")) {
        http_problem(request, 405, "method", "only GET is answered here", 0);
        return;
    }
    while (i < server->count && (code = rpc_read(server->handlers[i].question, request, partitions, &asked)) == -ENOENT)
        i++;
    if (code == -EINVAL)
        rpc_bad_query(request);
    else if (code)
        http_problem(request, 404, "not-found", "there is no such question", 0);
    else if (!(serves = server->serves(context, asked.partition)) || (server->handlers[i].early && serves != -ESTALE) ||
             !rpc_refused(request, serves))
        server->handlers[i].answer(context, request, &asked);
}
