/* Records that edits and moderation of posts have changed, as they are written: in the version before where it says all, which the last release
 * can read. Gateways, which let users edit, are upgraded last. Each appends a record. Pure; any thread. */
#pragma once

#include "event/codec.h"

void edit_encode_comment(struct buffer *out, const struct comment *comment);
void edit_encode_comment_text(struct buffer *out, const struct comment_text *text);
void edit_encode_comment_refusal(struct buffer *out, const struct comment_refusal *refusal);
void edit_encode_comment_command(struct buffer *out, const struct comment_command *command);
void edit_encode_comment_change(struct buffer *out, const struct comment_change *change);
void edit_encode_moderation_entry(struct buffer *out, const struct moderation_entry *entry);
void edit_encode_post(struct buffer *out, const struct post *post);
void edit_encode_post_command(struct buffer *out, const struct post_command *command);
void edit_encode_post_text(struct buffer *out, const struct post_text *text);
void edit_encode_feed_change(struct buffer *out, const struct feed_change *change);
