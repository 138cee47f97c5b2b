/* Comments as clients see them: what the subject's owner says, with the names of the authors. Places for the reader's own likes are
 * kept, so that one rendered answer serves every reader. Loop's thread. */
#ifndef INGEST_COMMENTS_COMMENT_JSON_H
#define INGEST_COMMENTS_COMMENT_JSON_H

#include "ingest/comments/known.h"
#include "json/json.h"
#include "users/profiles.h"

struct like_place {
    size_t at; /* in the body */
    int64_t comment;
};

/* An answer of comments. Zero-initialised: empty and valid. */
struct shown_comments {
    struct buffer body;
    struct like_place *places; /* of visible comments, in the order of the body */
    size_t count, capacity;
    int64_t version, counters; /* of a page */
    char *next;                /* the cursor of the list's next page; NULL: there is none */
    bool complete;             /* false: the owner did not have all texts yet */
};

void shown_comments_free(struct shown_comments *shown); /* what it points to */

/* Where the names come from, and where authors are noted. */
struct comment_names {
    struct profiles *profiles;
    struct known_authors *authors;
};

/* These append the owner's answer (comments/replies.h) as the API has it. False: it is no such answer, and what was appended is to be
 * thrown away. */
bool shown_comment(struct shown_comments *shown, const json_t *comment, const struct comment_names *names);
bool shown_page(struct shown_comments *shown, const json_t *reply, const struct comment_names *names);
bool shown_replies(struct shown_comments *shown, const json_t *reply, const struct comment_names *names);
bool shown_around(struct shown_comments *shown, const json_t *reply, const struct comment_names *names);

/* The answer for one reader. liked: ids, rising; NULL: without the member `liked`. */
void shown_comments_put(struct buffer *out, const struct shown_comments *shown, const int64_t *liked, size_t count);

#endif
