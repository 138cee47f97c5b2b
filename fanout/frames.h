/* The core's own frames: those of starling.v1 that belong to no screen, written straight into a frame buffer
 * (docs/PROTOCOL.md). Each function starts the frame anew (ws_frame_start). Loop's thread.
 */
#pragma once

#include <stdint.h>

#include "base/buffer.h"

struct welcome {
    int64_t user, session, server_time, report_every_s, inactive_after_s;
    double radius_m;
};

void frame_welcome(struct buffer *frame, const struct welcome *welcome);
void frame_error(struct buffer *frame, const char *code, const char *message);
void frame_reconnect(struct buffer *frame, int64_t after_ms);
