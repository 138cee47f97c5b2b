/* The nearby screen's frames: the pages and updates of starling.v1, written straight into a frame buffer (docs/PROTOCOL.md).
 *
 * Every function starts the frame anew (ws_frame_start). Loop's thread.
 */
#pragma once

#include "base/buffer.h"
#include "fanout/nearby/faces.h"
#include "fanout/nearby/nearby.h"

enum { FRAMES_PAGE = 20 };

/* The page after a cursor; marks its entries known. Returns how many it holds. */
size_t frame_nearby(struct buffer *frame, struct nearby *nearby, struct nearby_cursor after, struct faces *faces);

/* All that is dirty; tells it. Returns how many entries it holds (0: nothing was to be told, the frame is empty). */
size_t frame_update(struct buffer *frame, struct nearby *nearby, struct faces *faces);
