/* Applies the routers' nearby items to the views that they are for (docs/ARCHITECTURE.md). Loop's thread. */
#pragma once

#include "event/delivery.h"
#include "fanout/clock.h"
#include "fanout/nearby/faces.h"
#include "fanout/nearby/uplink.h"
#include "fanout/nearby/view.h"
#include "fanout/sessions.h"
#include "users/sharing_modes.h"

struct items { /* where they are applied; all of it borrowed */
    struct sessions *sessions;
    struct views *views;
    struct uplink *uplink;
    const struct sharing_modes *modes;
    struct faces *faces;
    struct codec *codec;
    const struct protocol_clock *clock;
    size_t offset; /* of a session's view in its memory */
    int64_t inactive_ms;
    uint32_t strikes; /* digests in a row that must differ before a list is asked for again */
};

/* The item in the envelope's payload. 0; -EBADMSG: it is malformed, or is for one recipient and has another number of them. */
int items_apply(const struct items *items, int32_t route, const struct deliver_envelope *envelope);
