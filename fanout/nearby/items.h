/* What routers say about nearby, applied to the views that it is for (docs/ARCHITECTURE.md). Loop's thread. */
#ifndef FANOUT_NEARBY_ITEMS_H
#define FANOUT_NEARBY_ITEMS_H

#include "copies/copies.h"
#include "event/codec.h"
#include "fanout/clock.h"
#include "fanout/nearby/uplink.h"
#include "fanout/nearby/view.h"
#include "fanout/sessions.h"

struct items { /* where they are applied; all of it borrowed */
    struct sessions *sessions;
    struct views *views;
    struct uplink *uplink;
    const struct copies *copies;
    const struct protocol_clock *clock;
    size_t offset; /* of a session's view in its memory */
    int64_t inactive_ms;
    uint32_t strikes; /* digests in a row that must differ before a list is asked for again */
};

void items_apply(const struct items *items, int32_t route, const struct delivery_item *item);

#endif
