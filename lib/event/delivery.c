#include "event/delivery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/private.h"
#include "event/wire.h"

#define TIME_MAX INT64_C(253402300799999) // as schemas/ranges.txt says

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

struct delivery_v1 {
    struct codec *codec; /* its own: whoever reads an item's payload uses another one's memory */
    const uint8_t *at;   /* NULL after the end */
    const uint8_t *end;
    size_t block; /* items left in the current block of the Avro array */
};

/* ---- version 1 ----
 *
 *     Move, Left    branch | what nearby-item has, too | recipients
 *     the others    branch | the recipient             | what nearby-item has, too
 */

static const uint8_t *skip_longs(const uint8_t *at, const uint8_t *end, int count) {
    while (at && count-- > 0) at = wire_skip_long(at, end);
    return at;
}

static const uint8_t *skip_roster(const uint8_t *at, const uint8_t *end) {
    enum { FRIEND_LONGS = 4 }; /* user, lat, lng, time */
    size_t block;
    if (!(at = wire_skip_long(at, end)) || !(at = wire_skip_boolean(at, end))) return NULL;
    while ((at = wire_get_block(at, end, FRIEND_LONGS, &block)) && block > 0) {
        for (; at && block > 0; block--) at = skip_longs(at, end, FRIEND_LONGS);
        if (!at) return NULL;
    }
    return at;
}

/* Where the part that nearby-item has, too, ends. */
static const uint8_t *skip_rest(unsigned branch, const uint8_t *at, const uint8_t *end) {
    switch (branch) {
    case NEARBY_ITEM_MOVE:
    case NEARBY_ITEM_DIGEST:
    case NEARBY_ITEM_SELF: return skip_longs(at, end, 4);
    case NEARBY_ITEM_ROSTER: return skip_roster(at, end);
    default: return wire_skip_long(at, end);
    }
}

static const uint8_t *get_recipients(const uint8_t *at, const uint8_t *end, struct event_longs *recipients,
                                     struct codec *scratch) {
    int64_t *users = NULL;
    size_t count = 0, capacity = 0, block;
    while ((at = wire_get_block(at, end, 1, &block)) && block > 0) {
        if (count + block > capacity) {
            capacity = count + block > 2 * capacity ? count + block : 2 * capacity;
            users = wire_scratch_grow(scratch, users, count * sizeof *users, capacity * sizeof *users);
        }
        for (; block > 0; block--) {
            if (!(at = wire_get_long_within(at, end, &users[count++], 0, INT64_MAX))) return NULL;
        }
    }
    *recipients = (struct event_longs){.items = users, .count = count};
    return at;
}

static const uint8_t *get_item(const uint8_t *from, const uint8_t *end, struct delivery_v1_item *item,
                               struct codec *scratch) {
    enum { BRANCHES = NEARBY_ITEM_SUPERSEDED + 1 };
    unsigned branch;
    const uint8_t *at = wire_get_index(from, end, BRANCHES, &branch);
    if (!at) return NULL;
    if (branch == NEARBY_ITEM_MOVE || branch == NEARBY_ITEM_LEFT) {
        if (!(at = skip_rest(branch, at, end))) return NULL;
        item->payload = (struct event_bytes){.data = from, .size = (size_t)(at - from)};
        return get_recipients(at, end, &item->recipients, scratch);
    }
    size_t lead = (size_t)(at - from);
    int64_t *recipient = wire_scratch_grow(scratch, NULL, 0, sizeof *recipient);
    const uint8_t *rest = wire_get_long_within(at, end, recipient, 0, INT64_MAX);
    if (!rest || !(at = skip_rest(branch, rest, end))) return NULL;
    size_t size = (size_t)(at - rest);
    uint8_t *payload = wire_scratch_grow(scratch, from, lead, lead + size);
    memcpy(payload + lead, rest, size);
    item->payload = (struct event_bytes){.data = payload, .size = lead + size};
    item->recipients = (struct event_longs){.items = recipient, .count = 1};
    return at;
}

struct delivery_v1 *delivery_v1_new(void) {
    struct delivery_v1 *reader = mem_alloc(sizeof *reader);
    *reader = (struct delivery_v1){.codec = codec_new(), .at = NULL, .end = NULL, .block = 0};
    return reader;
}

void delivery_v1_free(struct delivery_v1 *reader) {
    if (!reader) return;
    codec_free(reader->codec);
    free(reader);
}

int delivery_v1_start(struct delivery_v1 *reader, const void *value, size_t size, int64_t *stream_time,
                      int64_t *oldest_received, struct error *error) {
    uint32_t id;
    int64_t newest, oldest;
    const uint8_t *at = event_header_read(value, size, &id, error), *end = (const uint8_t *)value + size;
    if (!at) return -EBADMSG;
    if (id != DELIVERY_BATCH_V1_SCHEMA_ID) return event_wrong_id(id, "delivery-batch 1", error);
    if (!(at = wire_get_long_within(at, end, &newest, 0, TIME_MAX)) ||
        !(at = wire_get_long_within(at, end, &oldest, 0, TIME_MAX)))
        return error_set(error, -EBADMSG, "malformed delivery-batch of %zu bytes", size);
    reader->at = at;
    reader->end = end;
    reader->block = 0;
    *stream_time = newest;
    *oldest_received = oldest;
    return 0;
}

int delivery_v1_next(struct delivery_v1 *reader, struct delivery_v1_item *item) {
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
    at = get_item(at, reader->end, item, reader->codec);
    if (!at) return -EBADMSG;
    reader->at = at;
    reader->block = block - 1;
    return 1;
}
