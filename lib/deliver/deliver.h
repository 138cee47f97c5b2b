/* The outbox gathers envelopes by destination, sends them as DeliveryBatches, and counts them in epochs until they are acknowledged.
 *
 *     destination 0   [ headroom | envelope envelope envelope .... ]    a buffer each; the head is written before the envelopes
 *     destination 1   [ headroom | envelope ]                           when the batch is sent: it is full (64 KiB), or old
 *     ...                                                               (5 ms), or nothing more is coming and it may not wait
 *     waiting   { destination 3, bytes } { destination 0, bytes }       batches that the sender had no room for, in order
 *
 * A destination is a number: the route of an edge, or the partition of another topic; only the sender knows the
 * topic. Each batch belongs to the epoch (deliver/epochs.h) that is open when it is sent; the owner calls deliver_flush
 * before it closes that epoch, and epochs_acknowledge when a batch has arrived.
 *
 * Small batches cost their receivers' Kafka as much as large ones. So where more than DELIVER_BATCHES_S would be sent, those that nothing
 * more is coming for wait as well, just so long that no more are sent, and no longer than gather_most_us.
 *
 * An envelope that is put within a trace's scope (trace/tracer.h) makes its batch one of that trace: the batch is sent within the scope,
 * with the numbers of its envelopes. A batch belongs to one trace at most: an envelope of another one begins a new batch.
 *
 * No I/O: the sender is the owner's. No allocation an envelope. One thread.
 */
#pragma once

#include <stdbool.h>

#include "deliver/envelope.h"
#include "deliver/epochs.h"
#include "trace/tracer.h"

struct deliver;

enum { DELIVER_BATCHES_S = 1000, DELIVER_GATHER_US = 250000 };

struct deliver_options {
    int32_t destinations;
    size_t flush_bytes;     /* a batch is sent when it holds that much; one envelope may be larger */
    int64_t flush_us;       /* or when its first envelope is that old */
    int64_t gather_most_us; /* batches wait for more that long at most: DELIVER_GATHER_US; 0: they do not */
    struct epochs *epochs;  /* the owner's, and longer-lived; several outboxes may share them */
    struct tracer *tracer;  /* NULL: nothing is traced */
    void *context;
    /* Sends one batch, copying it. 0; -EAGAIN: no room now, it is offered again; other codes: it can never be sent and is
     * dropped (the sender has said so where that is told). */
    int (*send)(void *context, int32_t destination, const void *bytes, size_t size, uint64_t epoch);
};

struct deliver_recipient {
    int32_t destination;
    int64_t user;
};

struct deliver *deliver_new(const struct deliver_options *options);
void deliver_free(struct deliver *deliver); /* NULL is fine; unsent envelopes are lost */

/* From now on a batch waits for that long (options.flush_us until then). */
void deliver_set_flush_us(struct deliver *deliver, int64_t flush_us);

/* The head of batches from now on: highest report time. */
void deliver_set_stream_time(struct deliver *deliver, int64_t stream_time);

/* Room to write a payload of at most that many bytes to; valid until the next call. */
uint8_t *deliver_payload(struct deliver *deliver, size_t size_max);

/* Appends one envelope. received: Kafka timestamp (ms) of the input it comes from, 0: from none. now_us: monotonic. Destinations
 * that do not exist are ignored. */
void deliver_put(struct deliver *deliver, int32_t destination, const struct deliver_envelope *envelope,
                 int64_t received, int64_t now_us);

/* The same payload for many: one envelope a destination, with the recipients there. envelope->recipients is not looked at. */
void deliver_put_many(struct deliver *deliver, const struct deliver_envelope *envelope,
                      const struct deliver_recipient *recipients, size_t count, int64_t received, int64_t now_us);

void deliver_flush_old(struct deliver *deliver, int64_t now_us); /* batches that are older than flush_us */
void deliver_flush(struct deliver *deliver);                     /* everything */
/* Nothing more is coming for now: sends all batches that have waited for more as long as they should. Returns in how many ms there are
 * others to be sent by another call; 0: none wait. */
int64_t deliver_flush_ready(struct deliver *deliver, int64_t now_us);
void deliver_flush_one(struct deliver *deliver, int32_t destination); /* that exists; what it holds */
void deliver_beat(struct deliver *deliver); /* everything, and an empty batch to destinations with nothing */

/* Offers the waiting batches again; returns whether none is left. */
bool deliver_retry(struct deliver *deliver);
bool deliver_blocked(const struct deliver *deliver); /* some wait */
size_t deliver_bytes(const struct deliver *deliver); /* memory of buffers and waiting batches */
