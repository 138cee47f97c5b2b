/* The bytes of watch records, roll calls and deliveries.
 *
 *     key of a watch record    what (1 to 200 bytes) | watcher (8 bytes, big-endian)
 *     key of a roll call       watcher (8 bytes, big-endian)          in the same topic, so that it comes after the watches
 *     value of either, delivery      0x00 | schema id (4 bytes, big-endian) | Avro's binary encoding
 *
 * The values are Avro records in the Confluent wire format, of schemas/watch-v1.avsc, roll-call-v1.avsc and watch-note-v1.avsc. They
 * are written here by hand, because libraries that know no product do not include the generated codecs, which know
 * all of them; a unit test holds these bytes to the generated codecs.
 *
 * The decoders take any bytes: they return 0 and fill in `out`, or return -EBADMSG and leave it undefined. They allocate
 * nothing; what they return points into the input. The encoders append to a buffer. Pure; any thread.
 */
#pragma once

#include "base/buffer.h"
#include "watch/watch.h"

enum { WATCH_RECORD_ID = 10, WATCH_ROLL_CALL_ID = 11, WATCH_NOTE_ID = 12 }; /* schema ids, as in schemas/ids.txt */
enum { WATCH_KEY_MAX = WATCH_WHAT_MAX + 8 };

struct watch_key {
    uint64_t watcher;
    const uint8_t *what; /* of what_size bytes; size 0: the key of a roll call */
    size_t what_size;
};

/* Writes a key into `at`, which has room for WATCH_KEY_MAX bytes; returns its size. what_size 0: the key of a roll call. */
size_t watch_key_encode(uint8_t *at, const void *what, size_t what_size, uint64_t watcher);
int watch_key_decode(const void *key, size_t size, struct watch_key *out);

/* The value of a watch record. */
void watch_value_encode(struct buffer *to, int32_t route);
int watch_value_decode(const void *value, size_t size, int32_t *route);

/* A roll call of one watcher in one partition. Acknowledgements that do not fit into one record come in several, each of
 * which has the count and hash of the moment at which it is written. */
struct watch_roll {
    int32_t route; /* where the watcher reads deliveries now */
    int64_t
        number; /* of this record among all that the watcher has written to the partition, from 1 on: a gap is a lost one */
    int64_t count;           /* watch records that stand */
    uint64_t hash;           /* sum of their watch_hash_share */
    bool more;               /* another record of this roll call follows */
    size_t heard;            /* acknowledgements, read by watch_roll_next */
    const uint8_t *at, *end; /* private to the decoder */
    size_t block;            /* private to the decoder */
};

/* One acknowledgement. known false: the watcher shows the thing and has heard no version of it; version is then all 0. */
struct watch_ack {
    uint64_t what_hash;
    bool known;
    struct watch_version version;
};

/* `acks` points to roll->heard acknowledgements. */
void watch_roll_encode(struct buffer *to, const struct watch_roll *roll, const struct watch_ack *acks);
int watch_roll_decode(const void *value, size_t size, struct watch_roll *out); /* checks the acknowledgements, too */
bool watch_roll_next(struct watch_roll *roll, struct watch_ack *ack);          /* false: that was the last one */

/* A delivery from an owner to an edge: the payload of an envelope of WATCH_DELIVERY_KIND. */
enum watch_note_is {
    WATCH_NOTE_IS_TOLD, /* the thing changed: what, since, version, content. version WATCH_VERSION_ANY: content for every page */
    WATCH_NOTE_IS_NAMED, /* the thing's version now: what, version */
    WATCH_NOTE_IS_AGAIN  /* write all watches anew: watcher, partition */
};

struct watch_delivery {
    enum watch_note_is is;
    const uint8_t *what;
    size_t what_size;
    struct watch_version since, version;
    uint64_t watcher;
    int32_t partition;
    const uint8_t *content; /* only the product understands it */
    size_t content_size;
};

/* Members that a kind does not have are written as 0 or empty. */
void watch_delivery_encode(struct buffer *to, const struct watch_delivery *delivery);
int watch_delivery_decode(const void *payload, size_t size, struct watch_delivery *out);
