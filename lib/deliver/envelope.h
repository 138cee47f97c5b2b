/* A DeliveryBatch as bytes (schemas/delivery-batch-v2.avsc): the envelopes of all products from one process for one destination.
 *
 *     0x00 | schema id | stream_time | oldest_received | count | envelope ... | 0
 *     `--------------------- head -----------------------------'
 *
 *     envelope:  kind | recipients | size of the payload | payload
 *
 * This library does not look into payloads: the kind names the product whose payload it is, and a reader skips kinds that it does not
 * know. Batches are written and read one envelope at a time, so none is ever materialised. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

enum { DELIVER_SCHEMA_ID = 9 };

struct deliver_envelope {
    int32_t kind;
    const int64_t *recipients; /* user ids */
    size_t recipient_count;
    const uint8_t *payload;
    size_t payload_size;
};

/* Writes one; returns its end. At most deliver_envelope_size_max bytes. */
uint8_t *deliver_envelope_write(uint8_t *at, const struct deliver_envelope *envelope);
static inline size_t deliver_envelope_size_max(size_t recipients, size_t payload) {
    return (recipients + 4) * VARINT_MAX + payload; /* kind, block count, end of the recipients, size of the payload */
}

/* Writes the head of a batch whose `count` envelopes are written already. The head ENDS at `before` (the first envelope's first byte);
 * the function returns its start. At most DELIVER_HEAD_MAX bytes. The byte 0 must follow the envelopes. A batch without envelopes
 * is a head without a count, and that byte. */
enum { DELIVER_HEAD_MAX = 5 + 3 * VARINT_MAX };
uint8_t *deliver_head_write_before(uint8_t *before, int64_t stream_time, int64_t oldest_received, uint64_t count);

struct deliver_head {
    int64_t stream_time, oldest_received;
};

/* Reads batches, one after the other; owns the memory of the recipients. One thread. */
struct deliver_reader;
struct deliver_reader *deliver_reader_new(void);
void deliver_reader_free(struct deliver_reader *reader); /* NULL is fine */

/* The schema id of a Kafka value in the Confluent wire format; 0: it is not in that. */
uint32_t deliver_schema_id(const void *value, size_t size);

/* Begins with a batch, which must stay valid until it is read. 0, -EBADMSG (not the wire format, or malformed) or -ENOENT
 * (another schema id), with the reason in error. */
int deliver_reader_start(struct deliver_reader *reader, const void *value, size_t size, struct deliver_head *head,
                         struct error *error);

/* 1 an envelope, 0 the end, -EBADMSG malformed (the envelope then is undefined); the last two for ever after. The recipients
 * are valid until the next call, the payload points into the batch. */
int deliver_reader_next(struct deliver_reader *reader, struct deliver_envelope *envelope);
