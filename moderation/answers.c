#include "moderation/answers.h"

#include <string.h>

#include "base/config.h"
#include "base/text.h"
#include "ids/ids.h"
#include "subjects/subject.h"
#include "subjects/words.h"

enum { LIMIT_DEFAULT = 20, LIMIT_MAX = 1000, RETRY_AFTER_S = 2 };

/* The times and the cursor as a range of ids. */
static bool read_range(const struct http_request *request, struct search_query *query) {
    const char *after = http_query(request, "after");
    int64_t from, to, cursor = INT64_MAX;
    if (!http_query_number(request, "from", 0, INT64_MAX, &from) ||
        !http_query_number(request, "to", INT64_MAX, INT64_MAX, &to) ||
        (after && !ids_parse(after, strlen(after), &cursor)))
        return false;
    query->from = ids_first_at(from);
    query->to = ids_first_at(to);
    if (cursor < query->to) query->to = cursor;
    return true;
}

static bool read_query(const struct http_request *request, struct search_query *query) {
    const char *state = http_query(request, "state"), *reported = http_query(request, "reported");
    int64_t limit;
    *query = (struct search_query){
        .text = http_query(request, "text"),
        .subject = http_query(request, "subject"),
        .type = http_query(request, "type"),
        .user = -1,
        .state = -1,
        .reported = reported != NULL,
    };
    if ((http_query(request, "user") && !http_query_number(request, "user", -1, INT64_MAX, &query->user)) ||
        !http_query_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit) || limit < 1 ||
        (query->subject && !subject_valid(query->subject, strlen(query->subject))) ||
        (state && (query->state = text_word(state, COMMENT_STATES)) < 0) || (reported && strcmp(reported, "true") != 0))
        return false;
    query->limit = (size_t)limit;
    return read_range(request, query);
}

void answers_answer(struct searches *searches, bool ready, struct http_request *request) {
    struct search_query query;
    if (strcmp(http_path(request), "/peer/moderation/comments") != 0)
        http_problem(request, 404, "no_such_path", "there is nothing here", 0);
    else if (strcmp(http_method(request), "GET") != 0)
        http_bad_method(request, "GET");
    else if (!ready)
        http_problem(request, 503, "restoring", "comments are still being read", RETRY_AFTER_S);
    else if (!read_query(request, &query))
        http_problem(request, 400, "bad_query", "a parameter is out of range", 0);
    else
        searches_ask(searches, &query, request);
}
