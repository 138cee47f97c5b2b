#include "feed/inbox_lot.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"

void inbox_lot_free(struct inbox_lot *lot) {
    id_table_free(&lot->heads);
    free(lot->links);
    buffer_free(&lot->events);
    *lot = (struct inbox_lot){.heads = lot->heads};
}

size_t inbox_lot_bytes(const struct inbox_lot *lot) {
    return id_table_bytes(&lot->heads) + lot->link_capacity * sizeof *lot->links + lot->events.capacity;
}

bool inbox_lot_crowded(const struct inbox_lot *lot) {
    return lot->events.size > UINT32_MAX - (1u << 30) || lot->link_count > UINT32_MAX - (1u << 30);
}

uint32_t inbox_lot_event(struct inbox_lot *lot, const uint8_t *event, size_t size) {
    uint32_t at = (uint32_t)lot->events.size;
    uint8_t *start = buffer_reserve(&lot->events, VARINT_MAX + size), *end = varint_put(start, size);
    memcpy(end, event, size);
    buffer_commit(&lot->events, (size_t)(end - start) + size);
    return at;
}

void inbox_lot_add(struct inbox_lot *lot, int64_t reader, uint32_t event, bool resets) {
    bool created;
    struct inbox_head *head = id_table_put(&lot->heads, reader, &created);
    MEM_ROOM(lot->links, lot->link_count, lot->link_capacity);
    lot->links[lot->link_count++] = (struct inbox_link){.before = resets ? 0 : head->link, .event = event};
    head->link = (uint32_t)lot->link_count;
}

void inbox_past_free(struct inbox_past *past) {
    free(past->events);
    *past = (struct inbox_past){.events = NULL};
}

void inbox_lot_past(const struct inbox_lot *lot, int64_t reader, struct inbox_past *past) {
    const struct inbox_head *head = id_table_find(&lot->heads, reader);
    past->count = 0;
    for (uint32_t at = head ? head->link : 0; at; at = lot->links[at - 1].before) {
        MEM_ROOM(past->events, past->count, past->capacity);
        past->events[past->count++] = lot->links[at - 1].event;
    }
}

static const uint8_t *event_at(const struct inbox_lot *lot, uint32_t event, size_t *size) {
    uint64_t bytes = 0;
    const uint8_t *at = varint_get(lot->events.data + event, lot->events.data + lot->events.size, &bytes);
    *size = (size_t)bytes;
    return at;
}

enum inbox_event inbox_past_first(const struct inbox_lot *lot, const struct inbox_past *past) {
    size_t size;
    return inbox_log_first(event_at(lot, past->events[past->count - 1], &size));
}

void inbox_past_apply(const struct inbox_lot *lot, const struct inbox_past *past, struct inbox *inbox, size_t max,
                      struct inbox_gathered *gathered) {
    size_t size;
    for (size_t i = past->count; i--;) {
        const uint8_t *event = event_at(lot, past->events[i], &size);
        inbox_log_apply(inbox, event, size, max, gathered); // our own bytes
    }
    inbox_log_settle(inbox, max, gathered);
}

void inbox_past_write(const struct inbox_lot *lot, const struct inbox_past *past, struct buffer *out,
                      struct inbox_gathered *gathered) {
    size_t size;
    for (size_t i = past->count; i--;) {
        const uint8_t *event = event_at(lot, past->events[i], &size);
        inbox_log_join(out, event, size, gathered);
    }
    inbox_log_end(out, gathered);
}
