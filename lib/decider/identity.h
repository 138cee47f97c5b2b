/* The name by which Kafka's transactions know this process: it stays the same over restarts. Blocks; any thread. */
#ifndef DECIDER_IDENTITY_H
#define DECIDER_IDENTITY_H

#include "base/error.h"

/* The name is `instance` where that is not empty; else it is made once and kept in the file (whose directory is made too). A
 * negative errno code when the file cannot be read or written. The caller frees *name. */
int identity_load(const char *instance, const char *file, char **name, struct error *error);

#endif
