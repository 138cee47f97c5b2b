/* Records of `locations` and `sharing`, as they are written. */
#pragma once

#include "base/buffer.h"
#include "event/codec.h"

/* Appends one. What says no more than version 1 can is written as version 1, which costs routers and disks no byte more, and can be read by
 * those of the release before. */
void report_encode(struct buffer *out, const struct location *location);

/* The same, as version 2 unless details are shared. */
void sharing_encode(struct buffer *out, const struct sharing *sharing);
