#include "event/codec.h"

#include <errno.h>
#include <string.h>

#include "event/private.h"
#include "event/wire.h"

int delivery_reader_start(struct delivery_reader *reader, struct codec *codec, const void *value, size_t size,
                          struct error *error) {
    uint32_t id;
    struct delivery_batch head;
    const uint8_t *at = event_header_read(value, size, &id, error), *end = (const uint8_t *)value + size;
    if (!at) return -EBADMSG;
    delivery_batch_reader *read = delivery_batch_reader_of(id);
    if (!read) return event_wrong_id(id, "delivery-batch", error);
    at = read(at, end, &head, codec);
    if (!at) return error_set(error, -EBADMSG, "malformed delivery-batch of %zu bytes", size);
    *reader = (struct delivery_reader){
        .codec = codec,
        .read = delivery_item_reader_of(id),
        .at = at,
        .end = end,
        .block = 0,
        .stream_time = head.stream_time,
        .oldest_received = head.oldest_received,
    };
    return 0;
}

int delivery_reader_next(struct delivery_reader *reader, struct delivery_item *item) {
    const uint8_t *at = reader->at;
    size_t block = reader->block;
    if (!at) return 0;
    if (block == 0) {
        at = wire_get_block(at, reader->end, 1, &block);
        if (!at) return -EBADMSG;
        if (block == 0) {
            if (at != reader->end) return -EBADMSG;
            reader->at = NULL;
            return 0;
        }
    }
    codec_scratch_reset(reader->codec);
    at = reader->read(at, reader->end, item, reader->codec);
    if (!at) return -EBADMSG;
    reader->at = at;
    reader->block = block - 1;
    return 1;
}

uint8_t *delivery_head_write_before(uint8_t *before, int64_t stream_time, int64_t oldest_received, uint64_t count) {
    uint8_t head[DELIVERY_HEAD_MAX];
    const struct delivery_batch batch = {.stream_time = stream_time, .oldest_received = oldest_received};
    uint8_t *at = delivery_batch_write(event_header_write(head, EVENT_DELIVERY_BATCH), &batch);
    if (count > 0) at = wire_put_long(at, (int64_t)count);
    size_t size = (size_t)(at - head);
    return memcpy(before - size, head, size);
}

uint8_t *delivery_lead_write(uint8_t *at, const struct delivery_item *item) {
    struct delivery_item nobody = *item;
    if (item->kind == DELIVERY_ITEM_LEFT)
        nobody.left.recipients = (struct event_longs){.items = NULL};
    else
        nobody.move.recipients = (struct event_longs){.items = NULL};
    return delivery_item_write(at, &nobody) - 1; // without the byte that ends the array
}

uint8_t *delivery_recipients_write(uint8_t *at, const int64_t *users, size_t count) {
    if (count > 0) at = wire_put_long(at, (int64_t)count);
    for (size_t i = 0; i < count; i++) at = wire_put_long(at, users[i]);
    return wire_put_long(at, 0);
}
