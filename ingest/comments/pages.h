/* Comments that are read: a page of a thread, the replies of a root, one comment with those around it. */
#ifndef INGEST_COMMENTS_PAGES_H
#define INGEST_COMMENTS_PAGES_H

#include "ingest/endpoints.h"

extern const struct endpoint_list COMMENT_PAGES_ENDPOINTS; /* state: struct comments_gateway */

#endif
