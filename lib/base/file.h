/* Whole files. Blocks while it reads; any thread. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buffer.h"

/* Appends the content of a file. Negative errno; what was read before the failure stays in the buffer. */
int file_read(const char *path, struct buffer *out);

#endif
