/* Files of lines "NAME,VALUE": the last comma divides them; blank lines and comments (#) are skipped. Blocking; one thread. */
#ifndef CLI_LISTED_H
#define CLI_LISTED_H

#include <stdbool.h>

#include "base/error.h"

/* Calls take for each line, with texts that it may change; it returns false if the value is wrong, which ends the reading: -EINVAL with
 * "FILE:LINE: must be " and `wanted`. -ENOENT, -EIO, ...: the file cannot be read. */
int listed_read(const char *path, const char *wanted, bool (*take)(void *context, char *name, const char *value),
                void *context, struct error *error);

#endif
