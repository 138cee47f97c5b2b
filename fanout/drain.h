/* The orderly end: the sessions that are here are moved away at an even rate over edge.drain.s, each told when to come back. Loop's
 * thread.
 */
#ifndef FANOUT_DRAIN_H
#define FANOUT_DRAIN_H

#include "fanout/door.h"
#include "fanout/sessions.h"

struct drain;

struct drain_options {
    uv_loop_t *loop;
    int64_t duration_s;
    struct sessions *sessions;
    struct door *door; /* closed already */
    void *context;
    loop_fn *told; /* once, when all sessions were told to go */
};

struct drain *drain_new(const struct drain_options *options); /* begins */
void drain_free(struct drain *drain);                         /* NULL is fine */

#endif
