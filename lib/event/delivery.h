/* The payloads in the envelopes of a DeliveryBatch (lib/deliver knows only the envelopes).
 *
 * An envelope's kind says which product its payload is for, and so which schema the payload has. A kind is never reused, like
 * a schema id. A payload names no version of its schema: later versions of a union only add branches at the end, and readers are
 * upgraded before writers.
 */
#pragma once

#include "event/codec.h"

enum delivery_kind {
    DELIVERY_NEARBY = 1,   /* nearby-item. Move and Left have any number of recipients, the others have one */
    DELIVERY_TIMELINE = 3, /* timeline-item, between feed processes. 2 is lib/watch's, about feeds */
    DELIVERY_COMMENTS = 4, /* lib/watch's, about comments: watch-note, with comment-change as content */
};

/* Reads the payload of a DELIVERY_NEARBY envelope. 0 or -EBADMSG (item then is undefined). */
int delivery_read_nearby(struct codec *codec, const void *payload, size_t size, struct nearby_item *item);
/* The same for DELIVERY_TIMELINE. */
int delivery_read_timeline(struct codec *codec, const void *payload, size_t size, struct timeline_item *item);
