/* What comes by the topic deliveries: a DeliveryBatch, item by item. What is read is written again, and reads as the same:
 * so every array and every place is looked at. */
#include <errno.h>
#include <string.h>

#include "event/codec.h"
#include "fuzz.h"

static size_t write_item(struct buffer *out, const struct delivery_item *item) {
    uint8_t *at = buffer_reserve(out, delivery_item_size_max(item));
    size_t size = (size_t)(delivery_item_write(at, item) - at);
    fuzz_require(size <= delivery_item_size_max(item));
    buffer_commit(out, size);
    return size;
}

/* Reads a batch and writes its items into out; how many there were, or what the reader says of it. */
static int64_t reread(struct codec *codec, const void *value, size_t size, struct delivery_reader *reader,
                      struct buffer *out) {
    struct delivery_item item;
    struct error error = {.text = ""};
    int64_t count = 0;
    int more = delivery_reader_start(reader, codec, value, size, &error);
    if (more) {
        fuzz_require((more == -EBADMSG || more == -ENOENT) && error.text[0]);
        return more;
    }
    while ((more = delivery_reader_next(reader, &item)) > 0) {
        write_item(out, &item);
        count++;
    }
    fuzz_require(delivery_reader_next(reader, &item) == more); /* for ever after */
    return more < 0 ? more : count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct codec *codec;
    static struct buffer first, second;
    struct delivery_reader reader, again;
    if (!codec) codec = codec_new();
    buffer_clear(&first);
    buffer_clear(&second);
    memset(buffer_reserve(&first, DELIVERY_HEAD_MAX), 0, DELIVERY_HEAD_MAX);
    buffer_commit(&first, DELIVERY_HEAD_MAX);
    int64_t count = reread(codec, data, size, &reader, &first);
    if (count < 0) return 0;
    buffer_byte(&first, 0);
    uint8_t *start = delivery_head_write_before(first.data + DELIVERY_HEAD_MAX, reader.stream_time,
                                                reader.oldest_received, (uint64_t)count);
    size_t items = first.size - DELIVERY_HEAD_MAX - 1;
    fuzz_require(reread(codec, start, (size_t)(first.data + first.size - start), &again, &second) == count);
    fuzz_require(again.stream_time == reader.stream_time && again.oldest_received == reader.oldest_received);
    fuzz_require(second.size == items && (!items || !memcmp(second.data, first.data + DELIVERY_HEAD_MAX, items)));
    return 0;
}
