/* What goes out to the edges: encoded items gathered a route, sent as DeliveryBatches, and what of it is acknowledged.
 *
 *     route 0   [ headroom | item item item .... ]      a buffer a route; the head is written before the items when it is
 *     route 1   [ headroom | item ]                     sent: full (64 KiB), or old (5 ms), or nothing more is coming
 *     ...
 *     waiting   { route 3, bytes } { route 0, bytes }   batches that the producer had no room for, in order
 *
 *     epochs    ... acked | acked | 3 unacked | 0 unacked | open
 *                                 ^ outbox_settled()        ^ outbox_epoch()
 *
 * Each batch belongs to the epoch that is open when it is sent. An epoch is settled when it is closed and its batches, and
 * those of all epochs before it, are acknowledged: what was handled before it was closed may then be committed.
 *
 * No I/O: the sender is the owner's. No allocation an item. One thread.
 */
#ifndef ROUTER_OUTBOX_H
#define ROUTER_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/codec.h"
#include "router/join.h"

struct outbox;

enum { OUTBOX_EPOCHS = 64 }; /* how many may be unsettled at once */

struct outbox_options {
    int32_t routes;
    size_t flush_bytes; /* a batch is sent when it holds that much; one item may be larger */
    int64_t flush_us;   /* or when its first item is that old */
    void *context;
    /* Sends one batch, copying it. 0; -EAGAIN: no room now, it is offered again; other codes: it can never be sent and is
     * dropped (the sender has said so where that is told). */
    int (*send)(void *context, int32_t route, const void *bytes, size_t size, uint64_t epoch);
};

struct outbox *outbox_new(const struct outbox_options *options);
void outbox_free(struct outbox *outbox); /* NULL is fine; what was not sent is lost */

/* From now on a batch waits for that long (options.flush_us until then). */
void outbox_set_flush_us(struct outbox *outbox, int64_t flush_us);

/* The head of batches from now on: highest report time. */
void outbox_set_stream_time(struct outbox *outbox, int64_t stream_time);

/* Appends one item for a route. received: Kafka timestamp (ms) of the location it comes from, 0: from none. now_us: monotonic.
 * Routes that do not exist are ignored. */
void outbox_put(struct outbox *outbox, int32_t route, const struct delivery_item *item, int64_t received,
                int64_t now_us);

/* A Move or Left: one item a route, with the recipients there. item->move.recipients (left.recipients) is not looked at. */
void outbox_put_recipients(struct outbox *outbox, const struct delivery_item *item,
                           const struct join_recipient *recipients, size_t count, int64_t received, int64_t now_us);

/* All that a join found, in the order in which an edge must hear it. Returns how many deliveries (recipients) that were. */
size_t outbox_put_result(struct outbox *outbox, const struct join_result *result, int64_t received, int64_t now_us);

void outbox_flush_old(struct outbox *outbox, int64_t now_us); /* what is older than flush_us */
void outbox_flush(struct outbox *outbox);                     /* everything */
void outbox_beat(struct outbox *outbox); /* everything, and an empty batch to routes with nothing */

/* Offers the waiting batches again; returns whether none is left. */
bool outbox_retry(struct outbox *outbox);
bool outbox_blocked(const struct outbox *outbox); /* some wait */
size_t outbox_bytes(const struct outbox *outbox); /* memory of buffers and waiting batches */

uint64_t outbox_epoch(const struct outbox *outbox);   /* the open one; from 1 on */
uint64_t outbox_settled(const struct outbox *outbox); /* all epochs smaller than this one are settled */

/* Flushes and closes the open epoch; false: too many are unsettled, it stays open. */
bool outbox_close_epoch(struct outbox *outbox);

/* The fate of a sent batch. A lost one never settles its epoch: the owner must outbox_forget and handle the events again. */
void outbox_acknowledge(struct outbox *outbox, uint64_t epoch);

/* Forgets what was sent: everything up to now counts as settled, and acknowledgements of it are ignored. */
void outbox_forget(struct outbox *outbox);

#endif
