/* The caller's home timeline: GET /v1/feed.
 *
 *     the reader's owner: ids above its horizon        once, and nothing more if that is enough
 *            v
 *     the owners of whom the reader follows: older ids all at once, a few hundred authors a question; merged
 *            v
 *     lib/posts/texts.h: the posts that were not kept  all at once; a post is gone, or its owner does not answer: unavailable.
 *     comment_counts.h: their comments and likes       at the same time; left out when slow
 *            v
 *     the page
 *
 * Some more ids are asked for than the page holds, because posts may be gone.
 */
#pragma once

#include "ingest/endpoints.h"

struct feed_gateway;

/* The texts that pages show, which the gateway keeps. Its owners and copies outlive them. */
struct texts *home_texts_new(struct feed_gateway *gateway, uv_loop_t *loop);

extern const struct endpoint_list HOME_ENDPOINTS; /* state: struct feed_gateway */
