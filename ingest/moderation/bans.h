/* PUT and DELETE /v1/moderation/bans/{user}: who may not write comments, by decision of a moderator. */
#ifndef INGEST_MODERATION_BANS_H
#define INGEST_MODERATION_BANS_H

#include "ingest/endpoints.h"

extern const struct endpoint_list BANS_ENDPOINTS; /* state: struct writer (ingest/write.h) */

#endif
