/* Profiles: read from the local copy, written to their topic. */
#ifndef INGEST_NEARBY_PROFILES_H
#define INGEST_NEARBY_PROFILES_H

#include "users/profiles.h"
#include "ingest/endpoints.h"
#include "ingest/write.h"

struct profile_writes;
struct profile_writes *profile_writes_new(struct writer *writer, struct profiles *profiles);
void profile_writes_free(struct profile_writes *writes); /* NULL is fine */

extern const struct endpoint_list PROFILES_ENDPOINTS; /* state: struct profile_writes */

#endif
