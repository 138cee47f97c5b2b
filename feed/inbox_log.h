/* The events of inboxes, as bytes: one event behind the other, in the order of the records. The same bytes wait in memory and lie
 * in the store, until they are applied to an inbox. Pure; one thread.
 *
 *     event       kind and count, then what the record says; ids as differences from the one before
 *     pushes      one event for all that follow one another: some 10 bytes each
 */
#pragma once

#include "event/codec.h"
#include "feed/inbox.h"

/* NONE: there is no inbox any more. The numbers are on disks. */
enum inbox_event {
    INBOX_EVENT_PUSHES,
    INBOX_EVENT_BACKLOG,
    INBOX_EVENT_ANSWER,
    INBOX_EVENT_BEGIN,
    INBOX_EVENT_NONE,
    INBOX_EVENT_REMOVED
};

/* Is an item of this kind an event of an inbox: a Push, Backlog, Answer, Begin or Gone? */
bool inbox_log_takes(enum timeline_item_kind kind);

/* Append an event. item: one that inbox_log_takes; offset and time: of its record. */
void inbox_log_item(struct buffer *out, const struct timeline_item *item, int64_t offset, int64_t time_ms);
void inbox_log_none(struct buffer *out);

/* Is nothing that happened before this event of any importance? */
static inline bool inbox_event_resets(enum inbox_event kind) {
    return kind == INBOX_EVENT_BEGIN || kind == INBOX_EVENT_NONE;
}
static inline enum inbox_event inbox_log_first(const uint8_t *bytes) { return (enum inbox_event)(*bytes & 7); }

/* Applies events to an inbox, or joins them: pushes are gathered, and go together. */
struct inbox_gathered {
    struct inbox_post *posts;
    size_t count, capacity;
};
void inbox_gathered_free(struct inbox_gathered *gathered);

/* Applies all of the bytes' events but the gathered pushes, which inbox_log_settle applies in the end. -EBADMSG: they are no events;
 * then some may be applied. */
int inbox_log_apply(struct inbox *inbox, const uint8_t *bytes, size_t size, size_t max,
                    struct inbox_gathered *gathered);
void inbox_log_settle(struct inbox *inbox, size_t max, struct inbox_gathered *gathered);

/* Appends one event to others, by the same gathering; inbox_log_end appends what is gathered in the end. */
void inbox_log_join(struct buffer *out, const uint8_t *event, size_t size, struct inbox_gathered *gathered);
void inbox_log_end(struct buffer *out, struct inbox_gathered *gathered);
