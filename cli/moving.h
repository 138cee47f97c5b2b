/* Comments that move here from elsewhere: subjects, comments, likes and pins, in the order of a file, become commands of a service.
 *
 *     file --moving_file--> struct moving --> REGISTER, POST, REPLY, LIKE, PIN --> comment-commands
 *
 * A comment's idempotency key comes from the file, and a reply names the comment that it answers by that one's key. So a file may be sent
 * again, whole or in part: nothing is made twice. An author is a user whom the file names, or one whom the list of authors names, or a
 * guest: a user whose number is a hash of what is known of the author, and whose profile has the author's name. One thread.
 */
#pragma once

#include "base/error.h"
#include "event/codec.h"

#define MOVING_GUESTS (INT64_C(1) << 52) /* guests are from here to 2^53 - 1: numbers that JavaScript has too */

struct moving_subject {
    const char *subject; /* "post:123" */
    int64_t owner;
    bool closed;
    enum comment_command_who who_may;
    enum comment_command_review review;
    int64_t level;
};

/* A person as a file describes them; NULL or "": the file does not say. */
struct moving_author {
    const char *email, *login, *name;
};

struct moving_comment {
    const char *id;     /* in the file */
    const char *key;    /* 1 to 64 bytes */
    const char *parent; /* the id of an earlier comment of the subject; NULL: it is a root */
    int64_t user;       /* -1: the author is looked up */
    struct moving_author author;
    int64_t time;
    enum comment_command_state state;
    const char *text; /* of a DELETED one: not carried */
};

struct moving;

struct moving_counts {
    int64_t subjects, comments, likes, pins, guests;
    int64_t cut;   /* texts that were longer than a comment may be */
    int64_t wrong; /* lines that cannot be taken */
};

struct moving_options {
    const char *authors; /* a file of lines AUTHOR,USER: an e-mail address, a login or a name; NULL: none */
    const char *salt;    /* goes into the numbers of guests */
    void *context;
    /* A wrong line is told, and left out with all that needs it. NULL: it ends the import. */
    void (*wrong)(void *context, const struct error *reason);
    int (*send)(void *context, const struct comment_command *command, struct error *error);
    int (*profile)(void *context, int64_t user, const char *name, struct error *error); /* of a guest, once a run */
};

/* -EINVAL, or a code of the file system, with the file and the line in error. */
int moving_new(const struct moving_options *options, struct moving **moving, struct error *error);
void moving_free(struct moving *moving); /* NULL is fine */

/* Each: 0, a code of `send` or `profile`, or -EINVAL with what is wrong. Comments, likes and pins are of the last subject. */
int moving_begin(struct moving *moving, const struct moving_subject *subject, struct error *error);
int moving_take(struct moving *moving, const struct moving_comment *comment, struct error *error);
int moving_like(struct moving *moving, const char *comment /* NULL: the subject itself */, int64_t user,
                struct error *error);
int moving_pin(struct moving *moving, const char *comment, struct error *error);

/* A line gave that code: 0 if the import goes on. An error is told with the file and the line. */
int moving_pass(struct moving *moving, int code, const char *path, long line, struct error *error);

const struct moving_counts *moving_counts(const struct moving *moving);
