/* Files of comments that move here, plain or gzip: the lines of JSON of docs/CLI.md. Blocking; one thread. */
#pragma once

#include "cli/moving.h"

/* Reads all of it into `moving`; "-": standard input. *share: how much of the file is read, 0 to 1. Negative errno; errors in the file
 * have its name and the line: "FILE:12: ...". */
int moving_file_read(const char *path, double *share, struct moving *moving, struct error *error);
