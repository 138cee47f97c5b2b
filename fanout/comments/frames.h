/* Writes the frames of live threads (docs/PROTOCOL.md). Each begins with ws_frame_start, and replaces the buffer's content. */
#ifndef FANOUT_COMMENTS_FRAMES_H
#define FANOUT_COMMENTS_FRAMES_H

#include "fanout/comments/live_thread.h"

void frame_comments(struct buffer *frame, const struct live_thread *thread); /* a change is pending */
void frame_stale_thread(struct buffer *frame, const struct live_thread *thread);

#endif
