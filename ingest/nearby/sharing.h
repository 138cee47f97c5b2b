/* Sharing: read from the local copy, written to its topic. A user who turns it on reports next, and reports are checked against
 * the copy: so the answer to PUT waits until this gateway has read its own write back. */
#pragma once

#include "users/sharing_modes.h"
#include "ingest/endpoints.h"
#include "ingest/write.h"

struct sharing_writes;
/* wall_clock: an end that this machine's clock has passed is refused. */
struct sharing_writes *sharing_writes_new(uv_loop_t *loop, struct writer *writer, const struct sharing_modes *modes,
                                          bool wall_clock);
void sharing_writes_free(struct sharing_writes *writes); /* NULL is fine */

void sharing_writes_noticed(struct sharing_writes *writes, int64_t user); /* the copy has read a change */
void sharing_writes_give_up(struct sharing_writes *writes); /* it will read no more: all that wait are answered */

extern const struct endpoint_list SHARING_ENDPOINTS; /* state: struct sharing_writes */
