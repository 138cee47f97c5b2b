/* The events of many inboxes since some moment, in memory.
 *
 *     heads     reader -> the newest link
 *     links     | before: 0, event | before: 0, event | before: 1, event | ...     numbered from 1; one for each reader of an event
 *     events    size, event of inbox_log.h; one for however many readers
 *
 * So a push to a thousand readers is one event and a thousand links of 8 bytes. One thread.
 */
#pragma once

#include "feed/id_table.h"
#include "feed/inbox_log.h"

struct inbox_link {
    uint32_t before, event;
};

struct __attribute__((packed)) inbox_head {
    uint64_t key;
    uint32_t link;
};

/* {.heads = {.size = sizeof(struct inbox_head)}} is an empty one. */
struct inbox_lot {
    struct id_table heads;
    struct inbox_link *links;
    size_t link_count, link_capacity;
    struct buffer events;
};

void inbox_lot_free(struct inbox_lot *lot); /* the lot is empty afterwards */
size_t inbox_lot_bytes(const struct inbox_lot *lot);
bool inbox_lot_crowded(const struct inbox_lot *lot); /* the next gigabyte is too much for 32-bit numbers */

/* Adds an event, and a reader to whom it happened: what was before does not matter if it resets the inbox. */
uint32_t inbox_lot_event(struct inbox_lot *lot, const uint8_t *event, size_t size);
void inbox_lot_add(struct inbox_lot *lot, int64_t reader, uint32_t event, bool resets);

/* The events of a reader, the newest first. */
struct inbox_past {
    uint32_t *events;
    size_t count, capacity;
};
void inbox_past_free(struct inbox_past *past);
void inbox_lot_past(const struct inbox_lot *lot, int64_t reader, struct inbox_past *past);

/* The kind of the first of them, of which there is one. */
enum inbox_event inbox_past_first(const struct inbox_lot *lot, const struct inbox_past *past);
/* Applies all of it. */
void inbox_past_apply(const struct inbox_lot *lot, const struct inbox_past *past, struct inbox *inbox, size_t max,
                      struct inbox_gathered *gathered);
/* Appends it as bytes of inbox_log.h. */
void inbox_past_write(const struct inbox_lot *lot, const struct inbox_past *past, struct buffer *out,
                      struct inbox_gathered *gathered);
