/* Comments as clients see them: what the subject's owner says, with the names of the authors. Places for the reader's own likes are
 * kept, and where each comment lies, so that one rendered answer serves every reader: those who have blocked an author, too. Loop's
 * thread. */
#pragma once

#include "ingest/comments/known.h"
#include "json/scan.h"
#include "users/profiles.h"

struct like_place {
    size_t at; /* in the body */
    int64_t comment;
};

/* A comment's place in the body, with its replies. */
struct comment_span {
    size_t from, end;
    int64_t comment, user;
};

/* An answer of comments. Zero-initialised: empty and valid. */
struct shown_comments {
    struct buffer body;
    struct like_place *places; /* of visible comments, in the order of the body */
    size_t count, capacity;
    struct comment_span *spans; /* of all comments, by rising `from`: each before its replies */
    size_t span_count, span_capacity;
    /* Authors of one comment and its root, which the answer is about: who has blocked one of them sees nothing of it. */
    int64_t authors[2];
    size_t author_count;
    int64_t version, counters; /* of a page */
    char *next;                /* the cursor of the list's next page; NULL: this is the last one */
    bool complete;             /* false: the owner did not have all texts yet */
};

void shown_comments_free(struct shown_comments *shown); /* what it points to */

/* The source of names, and the place where authors are noted. */
struct comment_names {
    struct profiles *profiles;
    struct known_authors *authors;
};

/* These append the owner's answer (comments/replies.h) as the API has it, from its bytes: values are copied as they lie there, in their
 * order. False: it is no such answer, and what was appended is to be thrown away. */
bool shown_comment(struct shown_comments *shown, struct json_bytes comment, const struct comment_names *names);
bool shown_one(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names);
bool shown_page(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names);
bool shown_replies(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names);
bool shown_edits(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names);
bool shown_around(struct shown_comments *shown, struct json_bytes reply, const struct comment_names *names);

/* The same by a number. */
enum shown_form { SHOWN_PAGE, SHOWN_REPLIES, SHOWN_ONE, SHOWN_AROUND, SHOWN_EDITS };
bool shown_make(enum shown_form form, struct shown_comments *shown, struct json_bytes reply,
                const struct comment_names *names);

size_t shown_comments_bytes(const struct shown_comments *shown); /* of memory */

/* For whom an answer is. Both lists rise. */
struct shown_reader {
    const int64_t *liked; /* comments; NULL: without the member `liked` */
    size_t liked_count;
    const int64_t *blocked; /* users, whose comments are left out with all replies */
    size_t blocked_count;
};

/* The answer for one reader, who has not blocked an author of what it is about. */
void shown_comments_put(struct buffer *out, const struct shown_comments *shown, const struct shown_reader *reader);

/* A number that stands for all comments that are left out for the reader; 0: nothing is left out. */
uint64_t shown_left_out(const struct shown_comments *shown, const struct shown_reader *reader);

/* The reader has blocked an author of what the answer is about. */
bool shown_is_blocked(const struct shown_comments *shown, const struct shown_reader *reader);
