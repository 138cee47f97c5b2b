/* The transactional id of this process, which stays the same over restarts. Blocks; any thread. */
#ifndef DECIDER_IDENTITY_H
#define DECIDER_IDENTITY_H

#include "base/error.h"

/* The name is `instance` if that is not empty. Otherwise it is made once and kept in the file; its directory is made, too. A
 * negative errno code when the file cannot be read or written. The caller frees *name. */
int identity_load(const char *instance, const char *file, char **name, struct error *error);

#endif
