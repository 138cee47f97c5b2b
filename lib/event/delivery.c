#include "event/delivery.h"

#include <errno.h>

#include "event/private.h"

int delivery_read_nearby(struct codec *codec, const void *payload, size_t size, struct nearby_item *item) {
    const uint8_t *end = (const uint8_t *)payload + size;
    codec_scratch_reset(codec);
    return nearby_item_read(payload, end, item, codec) == end ? 0 : -EBADMSG;
}

int delivery_read_timeline(struct codec *codec, const void *payload, size_t size, struct timeline_item *item) {
    const uint8_t *end = (const uint8_t *)payload + size;
    codec_scratch_reset(codec);
    return timeline_item_read(payload, end, item, codec) == end ? 0 : -EBADMSG;
}
