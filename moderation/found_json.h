/* Comments that a search found, as peers get them: {id, user, text, time, floor, root, reply_to, likes, reply_count, replies: [], state,
 * subject, reports}. text is null for a deleted comment; root and reply_to are null for roots. Pure; any thread. */
#ifndef MODERATION_FOUND_JSON_H
#define MODERATION_FOUND_JSON_H

#include "event/codec.h"

void found_json_put(struct buffer *out, const struct comment_wide *comment);
#endif
