/* Writes the frames of the live feed (docs/PROTOCOL.md). Each begins with ws_frame_start, and replaces the buffer's content. */
#ifndef FANOUT_FEED_FRAMES_H
#define FANOUT_FEED_FRAMES_H

#include "base/buffer.h"
#include "fanout/feed/live.h"

enum {
    FRAME_POSTS_BYTES = 64 << 10 /* beyond, a frame has no further post; a phone that does not read is kept one frame */
};

struct frame_posts_told {
    size_t posts, unavailable; /* of the posts, those without a text */
    bool too_long;             /* there is no frame: the phone is to read its page */
};

/* A change is pending, its posts are sorted, and all their texts are settled. */
struct frame_posts_told frame_posts(struct buffer *frame, const struct live_feed *live, struct texts *texts);
void frame_stale(struct buffer *frame, const struct live_feed *live);

#endif
