#include "moderation/answers.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "ids/ids.h"
#include "rpc/serve.h"
#include "subjects/subject.h"
#include "subjects/words.h"

enum { RETRY_AFTER_S = 2 };

/* The times and the cursor as a range of ids. */
static bool read_range(const struct rpc_asked *asked, struct search_query *query) {
    const char *after = asked->texts[RPC_AFTER];
    int64_t cursor = INT64_MAX;
    if (after && !ids_parse(after, strlen(after), &cursor)) return false;
    query->from = ids_first_at(asked->numbers[RPC_FROM]);
    query->to = ids_first_at(asked->numbers[RPC_TO]);
    if (cursor < query->to) query->to = cursor;
    return true;
}

static bool read_query(const struct rpc_asked *asked, struct search_query *query) {
    const char *state = asked->texts[RPC_STATE], *reported = asked->texts[RPC_REPORTED];
    *query = (struct search_query){
        .text = asked->texts[RPC_WORDS],
        .subject = asked->texts[RPC_SUBJECT],
        .type = asked->texts[RPC_TYPE],
        .user = asked->numbers[RPC_USER],
        .state = -1,
        .reported = reported != NULL,
        .limit = (size_t)asked->numbers[RPC_LIMIT],
    };
    if ((query->subject && !subject_valid(query->subject, strlen(query->subject))) ||
        (state && (query->state = text_word(state, COMMENT_STATES)) < 0) || (reported && strcmp(reported, "true") != 0))
        return false;
    return read_range(asked, query);
}

void answers_answer(struct searches *searches, bool ready, struct http_request *request) {
    struct search_query query;
    struct rpc_asked asked;
    int code = rpc_read(&ASK_SEARCH, request, 1, &asked);
    if (code == -ENOENT || code == -EDOM)
        http_problem(request, 404, "no_such_path", "there is nothing here", 0);
    else if (strcmp(http_method(request), "GET") != 0)
        http_bad_method(request, "GET");
    else if (!ready)
        http_problem(request, 503, "restoring", "comments are still being read", RETRY_AFTER_S);
    else if (code || !read_query(&asked, &query))
        http_problem(request, 400, "bad_query", "a parameter is out of range", 0);
    else
        searches_ask(searches, &query, request);
}
