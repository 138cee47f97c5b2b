/* Gateways and edges, which no consumer group of Kafka tells about in full: what they say on their ops addresses. Pure; one thread. */
#pragma once

#include <stdint.h>

#include "base/buffer.h"
#include "cli/daemon_view.h"

struct status_front {
    bool known;    /* false: nobody said where the daemons are, and none is where they are by default */
    bool complete; /* every address that was asked is said to be a daemon's: one that is silent is missed */
    size_t gateways, gateways_ready, edges, edges_ready;
    size_t silent;    /* addresses where no daemon answers, whatever it is */
    int64_t sessions; /* of all edges that answer */
};

/* configured: the addresses were not the default ones. */
struct status_front status_front_of(const struct daemon_view *const *views, size_t count, bool configured);

/* "gateways 1 of 2, edges 1 of 1, 300 sessions": ready ones, of all that answer. */
void status_front_summary(struct buffer *out, const struct status_front *front);

/* The lines of `starling status`. */
void status_front_text(struct buffer *out, const struct status_front *front);
/* "gateways":{"ready","count"},"edges":{"ready","count","sessions"},"silent": the first two null where they are not known. */
void status_front_json(struct buffer *out, const struct status_front *front);
