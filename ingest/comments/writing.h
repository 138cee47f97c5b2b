/* Comments that are written: POST, and GET of the outcome. */
#ifndef INGEST_COMMENTS_WRITING_H
#define INGEST_COMMENTS_WRITING_H

#include "ingest/endpoints.h"

extern const struct endpoint_list COMMENT_WRITING_ENDPOINTS; /* state: struct comments_gateway */

#endif
