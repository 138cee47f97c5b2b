/* Records of the topic deliveries: a DeliveryBatch, envelope by envelope. Envelopes that are read are written
 * again, and read as the same: so every array and every place is looked at; and so are the payloads of the kinds that are known. */
#include <errno.h>
#include <string.h>

#include "deliver/envelope.h"
#include "event/delivery.h"
#include "fuzz.h"

static struct codec *codec;

/* An item that can be read is written as bytes that mean the same. The same for each kind, but for its type. */
#define DEFINE_CHECK(KIND)                                                                                             \
    static void check_##KIND(const uint8_t *payload, size_t size) {                                                    \
        static struct buffer first, second;                                                                            \
        struct KIND##_item item;                                                                                       \
        if (delivery_read_##KIND(codec, payload, size, &item)) return;                                                 \
        struct buffer *const rounds[] = {&first, &second};                                                             \
        for (int i = 0; i < 2; i++) {                                                                                  \
            buffer_clear(rounds[i]);                                                                                   \
            uint8_t *at = buffer_reserve(rounds[i], KIND##_item_size_max(&item));                                      \
            size_t written = (size_t)(KIND##_item_write(at, &item) - at);                                              \
            fuzz_require(written <= KIND##_item_size_max(&item));                                                      \
            buffer_commit(rounds[i], written);                                                                         \
            fuzz_require(delivery_read_##KIND(codec, rounds[i]->data, rounds[i]->size, &item) == 0);                   \
        }                                                                                                              \
        fuzz_require(first.size == second.size && !memcmp(first.data, second.data, first.size));                       \
    }

DEFINE_CHECK(nearby)
DEFINE_CHECK(timeline)

/* Reads a batch and writes its envelopes into out; how many there were, or what the reader says of it. */
static int64_t reread(struct deliver_reader *reader, const void *value, size_t size, struct deliver_head *head,
                      struct buffer *out) {
    struct deliver_envelope envelope;
    struct error error = {.text = ""};
    int64_t count = 0;
    int more = deliver_reader_start(reader, value, size, head, &error);
    if (more) {
        fuzz_require((more == -EBADMSG || more == -ENOENT) && error.text[0]);
        return more;
    }
    while ((more = deliver_reader_next(reader, &envelope)) > 0) {
        size_t most = deliver_envelope_size_max(envelope.recipient_count, envelope.payload_size);
        uint8_t *at = buffer_reserve(out, most);
        size_t written = (size_t)(deliver_envelope_write(at, &envelope) - at);
        fuzz_require(written <= most);
        buffer_commit(out, written);
        if (envelope.kind == DELIVERY_NEARBY) check_nearby(envelope.payload, envelope.payload_size);
        if (envelope.kind == DELIVERY_TIMELINE) check_timeline(envelope.payload, envelope.payload_size);
        count++;
    }
    fuzz_require(deliver_reader_next(reader, &envelope) == more); /* for ever after */
    return more < 0 ? more : count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct deliver_reader *reader;
    static struct buffer first, second;
    struct deliver_head head, again;
    if (!codec) codec = codec_new();
    if (!reader) reader = deliver_reader_new();
    buffer_clear(&first);
    buffer_clear(&second);
    memset(buffer_reserve(&first, DELIVER_HEAD_MAX), 0, DELIVER_HEAD_MAX);
    buffer_commit(&first, DELIVER_HEAD_MAX);
    int64_t count = reread(reader, data, size, &head, &first);
    if (count < 0) return 0;
    buffer_byte(&first, 0);
    uint8_t *start = deliver_head_write_before(first.data + DELIVER_HEAD_MAX, head.stream_time, head.oldest_received,
                                               (uint64_t)count);
    size_t items = first.size - DELIVER_HEAD_MAX - 1;
    fuzz_require(reread(reader, start, (size_t)(first.data + first.size - start), &again, &second) == count);
    fuzz_require(again.stream_time == head.stream_time && again.oldest_received == head.oldest_received);
    fuzz_require(second.size == items && (!items || !memcmp(second.data, first.data + DELIVER_HEAD_MAX, items)));
    return 0;
}
