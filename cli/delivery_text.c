#include "cli/delivery_text.h"

#include <inttypes.h>

#include "base/text.h"
#include "deliver/envelope.h"
#include "event/delivery.h"

bool delivery_text_knows(const void *value, size_t size) { return deliver_schema_id(value, size) == DELIVER_SCHEMA_ID; }

/* The record whose bytes a payload of the kind is; EVENT_RECORDS: not known. */
static enum event_record payload_record(int32_t kind) {
    switch (kind) {
    case DELIVERY_NEARBY: return EVENT_NEARBY_ITEM;
    case DELIVERY_TIMELINE: return EVENT_TIMELINE_ITEM;
    default: return EVENT_RECORDS;
    }
}

static void put_payload(struct buffer *out, struct codec *codec, const struct deliver_envelope *envelope) {
    enum event_record record = payload_record(envelope->kind);
    if (record != EVENT_RECORDS) {
        struct buffer item = {.data = NULL};
        event_header_write(buffer_reserve(&item, EVENT_HEADER_SIZE), record);
        buffer_commit(&item, EVENT_HEADER_SIZE);
        buffer_append(&item, envelope->payload, envelope->payload_size);
        size_t before = out->size;
        int code = event_to_json(codec, item.data, item.size, out, NULL);
        buffer_free(&item);
        if (!code) return;
        out->size = before;
    }
    text_hex(out, envelope->payload, envelope->payload_size);
}

static void put_envelope(struct buffer *out, struct codec *codec, const struct deliver_envelope *envelope) {
    buffer_format(out, "{\"kind\": %" PRId32 ", \"recipients\": [", envelope->kind);
    for (size_t i = 0; i < envelope->recipient_count; i++)
        buffer_format(out, "%s%" PRId64, i ? ", " : "", envelope->recipients[i]);
    buffer_string(out, "], \"payload\": ");
    put_payload(out, codec, envelope);
    buffer_byte(out, '}');
}

int delivery_text(struct buffer *out, struct codec *codec, const void *value, size_t size, struct error *error) {
    struct deliver_reader *reader = deliver_reader_new();
    struct deliver_head head;
    struct deliver_envelope envelope;
    int code = deliver_reader_start(reader, value, size, &head, error), more = 0, count = 0;
    if (code) goto finish;
    buffer_format(out, "{\"stream_time\": %" PRId64 ", \"oldest_received\": %" PRId64 ", \"items\": [",
                  head.stream_time, head.oldest_received);
    while ((more = deliver_reader_next(reader, &envelope)) > 0) {
        if (count++) buffer_string(out, ", ");
        put_envelope(out, codec, &envelope);
    }
    buffer_string(out, "]}");
    if (more) code = error_set(error, more, "item %d of the delivery-batch is malformed", count);
finish:
    deliver_reader_free(reader);
    return code;
}

/* ---- whom it names ---- */

static bool among(const int64_t *users, size_t count, int64_t user) {
    for (size_t i = 0; i < count; i++)
        if (users[i] == user) return true;
    return false;
}

static bool roster_names(const struct roster_friends *friends, int64_t user) {
    for (size_t i = 0; i < friends->count; i++)
        if (friends->items[i].user == user) return true;
    return false;
}

static bool nearby_names(struct codec *codec, const uint8_t *payload, size_t size, int64_t user) {
    struct nearby_item item;
    if (delivery_read_nearby(codec, payload, size, &item)) return false;
    switch (item.kind) {
    case NEARBY_ITEM_MOVE: return item.move.user == user;
    case NEARBY_ITEM_ROUNDED_MOVE: return item.rounded_move.user == user;
    case NEARBY_ITEM_ROSTER: return roster_names(&item.roster.friends, user);
    case NEARBY_ITEM_ROUNDED_ROSTER: return roster_names(&item.rounded_roster.friends, user);
    case NEARBY_ITEM_LEFT: return item.left.user == user;
    case NEARBY_ITEM_PARTED: return item.parted.friend == user;
    case NEARBY_ITEM_DIGEST:
    case NEARBY_ITEM_SELF:
    case NEARBY_ITEM_SUPERSEDED: return false; // they are about their recipient alone
    }
    return false;
}

static bool timeline_names(struct codec *codec, const uint8_t *payload, size_t size, int64_t user) {
    struct timeline_item item;
    if (delivery_read_timeline(codec, payload, size, &item)) return false;
    switch (item.kind) {
    case TIMELINE_ITEM_PUSH: return item.push.author == user;
    case TIMELINE_ITEM_GONE: return item.gone.author == user;
    case TIMELINE_ITEM_BACKLOG: return item.backlog.author == user;
    case TIMELINE_ITEM_REQUEST: return item.request.reader == user;
    case TIMELINE_ITEM_ANSWER:
        for (size_t i = 0; i < item.answer.posts.count; i++)
            if (item.answer.posts.items[i].author == user) return true;
        return false;
    case TIMELINE_ITEM_BEGIN:
    case TIMELINE_ITEM_HOT:
    case TIMELINE_ITEM_HOT_GONE: return false; // they are about their recipient alone
    }
    return false;
}

static bool payload_names(struct codec *codec, const struct deliver_envelope *envelope, int64_t user) {
    switch (envelope->kind) {
    case DELIVERY_NEARBY: return nearby_names(codec, envelope->payload, envelope->payload_size, user);
    case DELIVERY_TIMELINE: return timeline_names(codec, envelope->payload, envelope->payload_size, user);
    default: return false;
    }
}

bool delivery_concerns(struct codec *codec, const void *value, size_t size, int64_t user) {
    struct deliver_reader *reader = deliver_reader_new();
    struct deliver_head head;
    struct deliver_envelope envelope;
    bool found = false;
    if (!deliver_reader_start(reader, value, size, &head, NULL)) {
        while (!found && deliver_reader_next(reader, &envelope) == 1)
            found = among(envelope.recipients, envelope.recipient_count, user) || payload_names(codec, &envelope, user);
    }
    deliver_reader_free(reader);
    return found;
}
