/* PUT and DELETE /v1/moderation/bans/{user}: a moderator forbids a user to write comments, and allows it again. */
#pragma once

#include "ingest/endpoints.h"

extern const struct endpoint_list BANS_ENDPOINTS; /* state: struct writer (ingest/write.h) */
