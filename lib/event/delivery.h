/* The payloads in the envelopes of a DeliveryBatch (lib/deliver knows only the envelopes), and batches of version 1, which had no
 * envelopes.
 *
 * An envelope's kind says which product its payload is for, and so which schema the payload has. A kind is never reused, like
 * a schema id. A payload names no version of its schema: later versions of a union only add branches at the end, and readers are
 * upgraded before writers.
 */
#ifndef EVENT_DELIVERY_H
#define EVENT_DELIVERY_H

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

/* Reads DeliveryBatches of version 1, one after the other, item by item. All their items are nearby's, and each carries its
 * recipients inside. The reader presents them as envelopes of kind DELIVERY_NEARBY. Routers of the previous release write this
 * version until they are replaced. */
enum { DELIVERY_BATCH_V1_SCHEMA_ID = 6 };

struct delivery_v1_item {
    struct event_longs recipients;
    struct event_bytes payload; /* a nearby-item */
};

struct delivery_v1;
struct delivery_v1 *delivery_v1_new(void);
void delivery_v1_free(struct delivery_v1 *reader); /* NULL is fine */

/* Begins with a batch, which must stay valid until it is read. 0, -EBADMSG or -ENOENT as event_decode_location. */
int delivery_v1_start(struct delivery_v1 *reader, const void *value, size_t size, int64_t *stream_time,
                      int64_t *oldest_received, struct error *error);

/* 1 an item, 0 the end, -EBADMSG malformed (the item then is undefined); the last two for ever after. The item is valid until
 * the next call. Payloads are not looked into further than to find their ends. */
int delivery_v1_next(struct delivery_v1 *reader, struct delivery_v1_item *item);

#endif
