/* Files of comments that move here, plain or gzip: lines of JSON (docs/CLI.md), WordPress's export (WXR) or Disqus's. Blocking; one
 * thread. */
#ifndef CLI_MOVING_FILE_H
#define CLI_MOVING_FILE_H

#include "cli/moving.h"

struct moving_file_options {
    const char *path;
    const char *type;     /* of subjects that WXR and Disqus name by ids of their own: "article" */
    const char *subjects; /* a file of lines WHAT,SUBJECT: a link, a slug or an id; NULL: none */
    int64_t owner;        /* of subjects whose author is in no list; negative: there must be none */
    double *share;        /* how much of the file is read, 0 to 1 */
};

/* Reads all of it into `moving`. Negative errno; errors in the file have its name and the line: "FILE:12: ...". */
int moving_file_read(const struct moving_file_options *options, struct moving *moving, struct error *error);

#endif
