/* Edits of posts and of comments, by the same rules: a text has versions, from 1 on without gaps, and the former ones stay beside it. Pure;
 * any thread. */
#pragma once

#include "event/types.h"
#include "json/json.h"

enum {
    EDIT_VERSIONS_MAX = 100, /* of a text, and all are kept: the last one stays */
    EDIT_TOLD_MAX = 50       /* users whom all versions mention, and who are told of it */
};

/* Whether the text of version `now` may be edited by somebody who has read the version `read`. */
enum edit_verdict { EDIT_DONE, EDIT_OLD_VERSION, EDIT_TOO_MANY };
enum edit_verdict edit_decide(int64_t now, int64_t read);

/* Whom the versions of a text mention, each once: first those whom a former version has, then `count - told` new ones. Beyond
 * EDIT_TOLD_MAX, nobody is noted. */
struct edit_mentions {
    int64_t users[EDIT_TOLD_MAX];
    size_t told, count;
};
void edit_mentions_of(struct edit_mentions *all, const struct event_longs *before, const struct event_longs *now);

/* Names an edit in a question about its outcome, by its editor (-1: the author) and its text. */
enum { EDIT_MARK_SIZE = 17 };
void edit_mark(int64_t editor, const struct event_text *text, char mark[EDIT_MARK_SIZE]);

/* A version of a text. */
struct edit_version {
    int64_t version, time, user; /* user: who wrote it */
    struct event_text text;
};

/* Appends it, as an item of a page of owners and of the API: without the name of the user. */
void edit_put(struct buffer *body, const struct edit_version *version);
/* Appends the end of the list, and the cursor behind the version, which is the last one of the page; 0: no others follow. */
void edit_put_next(struct buffer *body, int64_t version);
/* Appends the members that posts and comments have: "version":2,"edited":1700000000000 (0: null). */
void edit_put_state(struct buffer *body, int64_t version, int64_t edited);
/* Reads them. An owner of a version before edits does not say them: a text that cannot be edited has the version 1. */
bool edit_read_state(const json_t *item, int64_t *version, int64_t *edited);
