/* Questions for older posts of many authors: grouped by the partition of the authors, and cut so that each fits into a URL. Pure; one
 * thread. */
#pragma once

#include "json/json.h"

struct older_question {
    int32_t partition;
    char *authors; /* numbers with commas between them */
};

struct older_questions {
    struct older_question *items;
    size_t count;
};

enum { OLDER_AUTHORS_MAX = 400 }; /* of one question: 8 KB of a URL */

/* For posts of these authors, a list of user ids; others in it are passed by. */
void older_questions_new(struct older_questions *questions, const json_t *authors, int32_t partitions);
void older_questions_free(struct older_questions *questions);
