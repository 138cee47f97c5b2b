#include "cli/record_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"
#include "event/topics.h"

enum { USER_KEY = 8, PAIR_KEY = 16 };

static int64_t user_at(const uint8_t *bytes) { return (int64_t)bytes_get_be64(bytes); }

static void put_hex(struct buffer *out, const uint8_t *bytes, size_t size) {
    buffer_byte(out, '"');
    for (size_t i = 0; i < size; i++) buffer_format(out, "%02x", bytes[i]);
    buffer_byte(out, '"');
}

static void put_key(struct buffer *out, const struct kafka_record *record) {
    bool pair = record->topic == &TOPIC_FRIENDSHIPS;
    if (!record->key) {
        buffer_string(out, "null");
    } else if (pair && record->key_size == PAIR_KEY) {
        buffer_format(out, "[%" PRId64 ",%" PRId64 "]", user_at(record->key), user_at(record->key + USER_KEY));
    } else if (!pair && record->key_size == USER_KEY) {
        buffer_format(out, "%" PRId64, user_at(record->key));
    } else {
        put_hex(out, record->key, record->key_size);
    }
}

static void put_header(struct buffer *out, const struct kafka_record *record, const char *name, const char *header) {
    const char *value = kafka_record_header(record, header);
    if (!value) return;
    buffer_format(out, ",\"%s\":", name);
    text_quote(out, value, strlen(value));
}

void record_text(struct buffer *out, const struct kafka_settings *settings, struct codec *codec,
                 const struct kafka_record *record) {
    char *topic = topic_full_name(settings, record->topic, false);
    buffer_string(out, "{\"topic\":");
    text_quote(out, topic, strlen(topic));
    free(topic);
    buffer_format(out,
                  ",\"partition\":%d,\"offset\":%" PRId64 ",\"timestamp\":%" PRId64 ",\"key\":", (int)record->partition,
                  record->offset, record->timestamp);
    put_key(out, record);
    buffer_string(out, ",\"value\":");
    struct error error = {.text = ""};
    size_t before = out->size;
    if (!record->value) {
        buffer_string(out, "null");
    } else if (event_to_json(codec, record->value, record->value_size, out, &error)) {
        out->size = before;
        buffer_string(out, "null,\"error\":");
        text_quote(out, error.text, strlen(error.text));
        buffer_string(out, ",\"bytes\":");
        put_hex(out, record->value, record->value_size);
    }
    if (settings->dead_letters) {
        put_header(out, record, "reason", "__connect.errors.exception.message");
        put_header(out, record, "from_partition", "__connect.errors.partition");
        put_header(out, record, "from_offset", "__connect.errors.offset");
    }
    buffer_byte(out, '}');
}

static bool among(const struct event_longs *users, int64_t user) {
    for (size_t i = 0; i < users->count; i++) {
        if (users->items[i] == user) return true;
    }
    return false;
}

static bool names(const struct delivery_item *item, int64_t user) {
    switch (item->kind) {
    case DELIVERY_ITEM_MOVE: return item->move.user == user || among(&item->move.recipients, user);
    case DELIVERY_ITEM_ROSTER:
        for (size_t i = 0; i < item->roster.friends.count; i++) {
            if (item->roster.friends.items[i].user == user) return true;
        }
        return item->roster.recipient == user;
    case DELIVERY_ITEM_DIGEST: return item->digest.recipient == user;
    case DELIVERY_ITEM_SELF: return item->self.recipient == user;
    case DELIVERY_ITEM_LEFT: return item->left.user == user || among(&item->left.recipients, user);
    case DELIVERY_ITEM_PARTED: return item->parted.recipient == user || item->parted.friend == user;
    case DELIVERY_ITEM_SUPERSEDED: return item->superseded.user == user;
    }
    return false;
}

static bool delivery_concerns(struct codec *codec, const struct kafka_record *record, int64_t user) {
    struct delivery_reader reader;
    struct delivery_item item;
    if (!record->value || delivery_reader_start(&reader, codec, record->value, record->value_size, NULL)) return false;
    while (delivery_reader_next(&reader, &item) == 1) {
        if (names(&item, user)) return true;
    }
    return false;
}

bool record_concerns(struct codec *codec, const struct kafka_record *record, int64_t user) {
    if (record->topic == &TOPIC_DELIVERIES) return delivery_concerns(codec, record, user);
    if (record->key && record->key_size >= USER_KEY && user_at(record->key) == user) return true;
    struct friend_command command;
    return record->topic == &TOPIC_FRIEND_COMMANDS && record->value &&
           event_decode_friend_command(codec, record->value, record->value_size, &command, NULL) == 0 &&
           (command.from == user || command.to == user);
}
