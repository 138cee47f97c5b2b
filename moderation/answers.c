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
        .kind = asked->question == &ASK_SEARCH_POSTS ? INDEX_POSTS : INDEX_COMMENTS,
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

/* "TIME.USER" of the last one of the page before. */
static bool read_people(const struct rpc_asked *asked, struct people_query *query) {
    const char *after = asked->texts[RPC_AFTER], *dot = after ? strchr(after, '.') : NULL;
    *query = (struct people_query){.before = INT64_MAX,
                                   .before_user = INT64_MAX,
                                   .user = asked->numbers[RPC_USER],
                                   .limit = (size_t)asked->numbers[RPC_LIMIT]};
    if (!after) return true;
    return dot && text_number(after, (size_t)(dot - after), INT64_MAX, &query->before) &&
           text_number(dot + 1, strlen(dot + 1), INT64_MAX, &query->before_user);
}

void answers_answer(struct searches *searches, bool ready, struct http_request *request) {
    static const struct rpc_question *const QUESTIONS[] = {&ASK_SEARCH, &ASK_SEARCH_POSTS, &ASK_REPORTED, NULL};
    struct search_query query;
    struct people_query people;
    struct rpc_asked asked;
    size_t at = 0;
    int code = rpc_read(QUESTIONS[0], request, 1, &asked);
    while (code == -ENOENT && QUESTIONS[++at]) code = rpc_read(QUESTIONS[at], request, 1, &asked);
    bool of_people = QUESTIONS[at] == &ASK_REPORTED;
    if (code == -ENOENT || code == -EDOM)
        http_problem(request, 404, "no_such_path", "there is nothing here", 0);
    else if (strcmp(http_method(request), "GET") != 0)
        http_bad_method(request, "GET");
    else if (!ready)
        http_problem(request, 503, "restoring", "comments are still being read", RETRY_AFTER_S);
    else if (code || !(of_people ? read_people(&asked, &people) : read_query(&asked, &query)))
        http_problem(request, 400, "bad_query", "a parameter is out of range", 0);
    else if (of_people)
        searches_ask_people(searches, &people, request);
    else
        searches_ask(searches, &query, request);
}
