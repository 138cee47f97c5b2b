/* The frames that a phone sends (docs/PROTOCOL.md). Each function makes the buffer a frame for ws_send. Any thread. */
#pragma once

#include <stdint.h>

#include "base/buffer.h"
#include "geo/geo.h"

/* time: of the place, ms. */
/* device: its name; NULL: it says none. */
void phone_frame_hello(struct buffer *frame, const char *token, const char *device, struct geo_point at, int64_t time);
void phone_frame_hello_alone(struct buffer *frame, const char *token);  /* without a position: shows nobody */
void phone_frame_watch_feed(struct buffer *frame, const char *version); /* "": of no page yet */
void phone_frame_watch_notices(struct buffer *frame);
void phone_frame_location(struct buffer *frame, struct geo_point at, int64_t time);
void phone_frame_more(struct buffer *frame, const char *after); /* the next page, from the cursor of the last one on */
