/* The transactional id of this process, which stays the same over restarts. Blocks; any thread. */
#pragma once

#include "base/error.h"

/* The name is `instance` if that is not empty. Otherwise it is made once and kept in the file; its directory is made, too. A
 * negative errno code when the file cannot be read or written. The caller frees *name. */
int identity_load(const char *instance, const char *file, char **name, struct error *error);

/* PREFIXGROUP-NAME, such as starling.routers-router-1, with the name as identity_load has it from FOLDER/identity. The caller frees *id. */
int identity_transactional(const char *prefix, const char *group, const char *instance, const char *folder, char **id,
                           struct error *error);
