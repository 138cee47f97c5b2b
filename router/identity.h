/* Who this process is to Kafka's transactions: a name that stays over restarts. */
#ifndef ROUTER_IDENTITY_H
#define ROUTER_IDENTITY_H

#include "base/error.h"

/* The name is instance where that is not empty; else it is made once and kept in the file (whose directory is made too). The
 * caller frees *name. */
int identity_load(const char *instance, const char *file, char **name, struct error *error);

#endif
