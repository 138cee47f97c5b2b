/* What the edge says: the server's frames of starling.v1, written straight into a frame buffer (docs/PROTOCOL.md).
 *
 * Every function starts the frame anew (ws_frame_start). Loop's thread.
 */
#ifndef FANOUT_FRAMES_H
#define FANOUT_FRAMES_H

#include "base/buffer.h"
#include "fanout/faces.h"
#include "fanout/nearby.h"

enum { FRAMES_PAGE = 20 };

struct welcome {
    int64_t user, server_time, report_every_s, inactive_after_s;
    double radius_m;
};

void frame_welcome(struct buffer *frame, const struct welcome *welcome);

/* The page after a cursor; marks its entries known. Returns how many it holds. */
size_t frame_nearby(struct buffer *frame, struct nearby *nearby, struct nearby_cursor after, struct faces *faces);

/* All that is dirty; tells it. Returns how many entries it holds (0: nothing was to be told, the frame is empty). */
size_t frame_update(struct buffer *frame, struct nearby *nearby, struct faces *faces);

void frame_error(struct buffer *frame, const char *code, const char *message);
void frame_reconnect(struct buffer *frame, int64_t after_ms);

#endif
