/* The comments of one subject, gathered from a file in any order: given on sorted by their time, each behind the one that it answers.
 * Comments that are left out (spam) are skipped over: their replies answer the comment above it. One thread. */
#ifndef CLI_MOVING_THREAD_H
#define CLI_MOVING_THREAD_H

#include <stdbool.h>

#include "cli/moving.h"

struct moving_thread;

struct moving_thread *moving_thread_new(const struct moving_subject *subject); /* copies what it needs */
void moving_thread_free(struct moving_thread *thread);                         /* NULL is fine */

/* Copies the comment. line: in the file, for errors. left_out: it is not given on. */
void moving_thread_add(struct moving_thread *thread, const struct moving_comment *comment, long line, bool left_out);

/* Gives the subject and its comments on, as its page wants them. path: of the file, for what is wrong. *line: where the comment of an
 * error is; 0: the subject's. A thread without comments gives nothing. */
int moving_thread_give(struct moving_thread *thread, struct moving *moving, const char *path, long *line,
                       struct error *error);

#endif
