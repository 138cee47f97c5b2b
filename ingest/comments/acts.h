/* Acts on comments and subjects: deleted, liked, pinned, reported, moderated; registered. */
#ifndef INGEST_COMMENTS_ACTS_H
#define INGEST_COMMENTS_ACTS_H

#include "ingest/endpoints.h"

extern const struct endpoint_list COMMENT_ACTS_ENDPOINTS; /* state: struct comments_gateway */

#endif
