/* Comments as `starling comments` prints them, a line each; replies stand under their root, indented. Pure; any thread.
 *
 *     2026-01-31T12:00:00.123Z 2147483648123 5 #1 likes=2 "Hello"         time, id, author, floor, likes, text as a JSON string
 *       2026-01-31T12:01:00.456Z 2147483648999 7 #1 likes=0 deleted       a comment that is not visible: its state
 */
#pragma once

#include "json/json.h"

/* Appends the lines of a comment and its replies, as the subject's owner says them. json: as JSON instead, one line with its replies in
 * it. -EBADMSG with the reason: it is no comment, and what was appended is to be thrown away. */
int comment_lines(struct buffer *out, const json_t *comment, bool json, struct error *error);
