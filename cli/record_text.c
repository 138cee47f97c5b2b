#include "cli/record_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/config.h"
#include "base/text.h"
#include "cli/record_units.h"
#include "deliver/envelope.h"
#include "event/delivery.h"
#include "event/topics.h"
#include "subjects/subject.h"
#include "users/device.h"
#include "users/handle.h"
#include "users/notice.h"
#include "users/place.h"
#include "users/relation.h"
#include "watch/records.h"

/* Delivery batches as JSON for people and their tools. It shows payloads too, which avro-c alone cannot read. */

/* Is it a delivery batch of envelopes? Others (version 1) are as event_to_json writes them. */
static bool delivery_text_knows(const void *value, size_t size) {
    return deliver_schema_id(value, size) == DELIVER_SCHEMA_ID;
}

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

/* Appends {"stream_time":, "oldest_received":, "items": [{"kind":, "recipients": [], "payload":}, ...]}. payload: as
 * event_to_json writes a nearby-item or timeline-item; the bytes in hex of kinds that are not known, and of payloads that cannot be read.
 * 0 or -EBADMSG with the reason in error; out then holds half of it. */
static int delivery_text(struct buffer *out, struct codec *codec, const void *value, size_t size, struct error *error) {
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
    case NEARBY_ITEM_DETAILED_MOVE: return item.detailed_move.user == user;
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
    case TIMELINE_ITEM_HOT_GONE:
    case TIMELINE_ITEM_EDITED:
    case TIMELINE_ITEM_MODERATED: return false; // they are about their recipient alone
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

/* Does a delivery batch of any version name the user, as a recipient or in a payload? */
static bool delivery_concerns(struct codec *codec, const void *value, size_t size, int64_t user) {
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

enum { USER_KEY = 8, PAIR_KEY = 16 };

static int64_t number_at(const uint8_t *bytes) { return (int64_t)bytes_get_be64(bytes); }

/* [user, what, other] of a key of `follows`; false: it is no such key. */
static bool put_follow_key(struct buffer *out, const struct kafka_record *record) {
    static const char *const RELATIONS[] = {NULL, "follows", "followed by", "mutes", "asked by", "asks"};
    struct relation_half key;
    if (!relation_key_read(record->key, record->key_size, &key)) return false;
    buffer_format(out, "[%" PRId64 ",\"%s\",%" PRId64 "]", key.user, RELATIONS[key.relation], key.other);
    return true;
}

/* ["feed:7", "watcher"], or [null, "watcher"] of a roll call; false: it is no such key. Watchers are random numbers of 64 bits. */
static bool put_watch_key(struct buffer *out, const struct kafka_record *record) {
    struct watch_key key;
    if (watch_key_decode(record->key, record->key_size, &key)) return false;
    buffer_byte(out, '[');
    if (key.what_size)
        text_quote(out, (const char *)key.what, key.what_size);
    else
        buffer_string(out, "null");
    buffer_format(out, ",\"%" PRIu64 "\"]", key.watcher);
    return true;
}

static bool is_watch_of(const struct kafka_record *record, int64_t user) {
    char what[32];
    struct watch_key key;
    size_t size = (size_t)snprintf(what, sizeof what, "feed:%" PRId64, user);
    return record->key && !watch_key_decode(record->key, record->key_size, &key) && key.what_size == size &&
           !memcmp(key.what, what, size);
}

/* A user, or "@handle", of a key of `names` or `name-commands`; false: it is no such key. */
static bool put_name_key(struct buffer *out, const struct kafka_record *record) {
    char handle[HANDLE_SIZE];
    int64_t user;
    if (!name_key_read(record->key, record->key_size, &user, handle)) return false;
    if (user < 0)
        buffer_format(out, "\"@%s\"", handle);
    else
        buffer_format(out, "%" PRId64, user);
    return true;
}

/* [user, "id"] of a key of `notices`; false: it is no such key. */
static bool put_notice_key(struct buffer *out, const struct kafka_record *record) {
    struct notice_key key;
    if (!notice_key_read(record->key, record->key_size, &key)) return false;
    buffer_format(out, "[%" PRId64 ",\"", key.user);
    notice_id_put(out, &key);
    buffer_string(out, "\"]");
    return true;
}

/* [user, "run", "session"], or [null, "run"] of a beat; false: it is no key of `devices`. */
static bool put_device_key(struct buffer *out, const struct kafka_record *record) {
    struct device_key key;
    if (!device_key_read(record->key, record->key_size, &key)) return false;
    if (key.user < 0)
        buffer_format(out, "[null,\"%" PRId64 "\"]", key.run);
    else
        buffer_format(out, "[%" PRId64 ",\"%" PRId64 "\",\"%" PRId64 "\"]", key.user, key.run, key.session);
    return true;
}

/* [user, "id"] of a key of `places`; false: it is no such key. */
static bool put_place_key(struct buffer *out, const struct kafka_record *record) {
    struct place_key key;
    if (!place_key_read(record->key, record->key_size, &key)) return false;
    buffer_format(out, "[%" PRId64 ",\"%.*s\"]", key.user, (int)key.id_size, key.id);
    return true;
}

/* A topic whose keys begin with a subject. */
static bool is_of_subjects(const struct topic *topic) {
    static const struct topic *const KEYED[] = {
        &TOPIC_COMMENT_COMMANDS, &TOPIC_COMMENTS,       &TOPIC_COMMENT_TEXTS, &TOPIC_REACTIONS,
        &TOPIC_COMMENT_REFUSALS, &TOPIC_MODERATION_LOG, &TOPIC_COMMENTS_WIDE, &TOPIC_AUDIT};
    for (size_t i = 0; i < ARRAY_SIZE(KEYED); i++)
        if (topic == KEYED[i]) return true;
    return false;
}

/* "post:1", ["post:1","id"] of a comment, or ["post:1","id",number] with a user or an offset; false: it is no key of a subject. */
static bool put_subject_key(struct buffer *out, const struct kafka_record *record) {
    struct subject_key key;
    if (!subject_key_read(record->key, record->key_size, &key)) return false;
    if (key.numbers) buffer_byte(out, '[');
    text_quote(out, key.subject, key.size);
    if (key.numbers) buffer_format(out, ",\"%" PRId64 "\"", key.comment);
    if (key.numbers == 2) buffer_format(out, ",%" PRId64, key.second);
    if (key.numbers) buffer_byte(out, ']');
    return true;
}

static bool is_of_offsets(const struct topic *topic) {
    return topic == &TOPIC_COMMAND_OFFSETS || topic == &TOPIC_FEED_OFFSETS || topic == &TOPIC_PLACE_OFFSETS ||
           topic == &TOPIC_COMMENT_OFFSETS;
}

static void put_key(struct buffer *out, const struct kafka_record *record) {
    const struct topic *topic = record->topic;
    bool pair = topic == &TOPIC_FRIENDSHIPS || topic == &TOPIC_NEARBY_MUTES || topic == &TOPIC_PLACE_EVENTS,
         post = topic == &TOPIC_POSTS || topic == &TOPIC_POST_TEXTS;
    bool relation = topic == &TOPIC_FOLLOWS, watch = topic == &TOPIC_FEED_WATCHES || topic == &TOPIC_COMMENT_WATCHES;
    bool name = topic == &TOPIC_NAMES || topic == &TOPIC_NAME_COMMANDS;
    if (!record->key) {
        buffer_string(out, "null");
    } else if (is_of_offsets(topic)) { // the name of a topic
        text_quote(out, (const char *)record->key, record->key_size);
    } else if (is_of_subjects(topic)) {
        if (!put_subject_key(out, record)) text_hex(out, record->key, record->key_size);
    } else if (pair && record->key_size == PAIR_KEY) {
        buffer_format(out, "[%" PRId64 ",%" PRId64 "]", number_at(record->key), number_at(record->key + USER_KEY));
    } else if (post && record->key_size == PAIR_KEY) { // ids of posts are strings wherever there is JSON
        buffer_format(out, "[%" PRId64 ",\"%" PRId64 "\"]", number_at(record->key), number_at(record->key + USER_KEY));
    } else if ((relation && put_follow_key(out, record)) || (watch && put_watch_key(out, record)) ||
               (name && put_name_key(out, record)) || (topic == &TOPIC_NOTICES && put_notice_key(out, record)) ||
               (topic == &TOPIC_DEVICES && put_device_key(out, record)) ||
               (topic == &TOPIC_PLACES && put_place_key(out, record))) {
        return;
    } else if (!pair && !post && !relation && !watch && !name && record->key_size == USER_KEY) {
        buffer_format(out, "%" PRId64, number_at(record->key));
    } else {
        text_hex(out, record->key, record->key_size);
    }
}

static void put_header(struct buffer *out, const struct kafka_record *record, const char *name, const char *header) {
    const char *value = kafka_record_header(record, header);
    if (!value) return;
    buffer_format(out, ",\"%s\":", name);
    text_quote(out, value, strlen(value));
}

static int value_text(struct buffer *out, struct codec *codec, const struct kafka_record *record, bool raw,
                      struct error *error) {
    struct buffer text = {.data = NULL};
    int code = delivery_text_knows(record->value, record->value_size)
                   ? delivery_text(&text, codec, record->value, record->value_size, error)
                   : event_to_json(codec, record->value, record->value_size, &text, error);
    if (!code && raw)
        buffer_append(out, text.data, text.size);
    else if (!code)
        record_units(out, (const char *)text.data, text.size);
    buffer_free(&text);
    return code;
}

void record_text(struct buffer *out, const struct kafka_settings *settings, struct codec *codec,
                 const struct kafka_record *record, bool raw) {
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
    if (!record->value) {
        buffer_string(out, "null");
    } else if (value_text(out, codec, record, raw, &error)) {
        buffer_string(out, "null,\"error\":");
        text_quote(out, error.text, strlen(error.text));
        buffer_string(out, ",\"bytes\":");
        text_hex(out, record->value, record->value_size);
    }
    if (settings->dead_letters) {
        put_header(out, record, "reason", "__connect.errors.exception.message");
        put_header(out, record, "by", "__connect.errors.connector.name");
        put_header(out, record, "from_partition", "__connect.errors.partition");
        put_header(out, record, "from_offset", "__connect.errors.offset");
        put_header(out, record, "whole_size", RECORD_CUT_HEADER);
    }
    buffer_byte(out, '}');
}

static bool has_batches(const struct topic *topic) {
    return topic == &TOPIC_DELIVERIES || topic == &TOPIC_TIMELINES || topic == &TOPIC_TIMELINE_REQUESTS ||
           topic == &TOPIC_HOT_POSTS;
}

/* The record, of a topic of subjects, names the user. */
static bool names_user(struct codec *codec, const struct kafka_record *record, int64_t user) {
    const void *value = record->value;
    size_t size = record->value_size;
    union {
        struct comment_command command;
        struct comment_subject subject;
        struct comment comment;
        struct comment_text text;
        struct comment_refusal refusal;
        struct moderation_entry entry;
        struct comment_wide wide;
        struct audit_entry audit;
    } is;
    struct subject_key key;
    if (!subject_key_read(record->key, record->key_size, &key)) return false;
    if (record->topic == &TOPIC_REACTIONS) return key.second == user;
    if (!value) return false;
    if (record->topic == &TOPIC_COMMENT_COMMANDS)
        return !event_decode_comment_command(codec, value, size, &is.command, NULL) && is.command.user == user;
    if (record->topic == &TOPIC_COMMENTS && !key.numbers)
        return !event_decode_comment_subject(codec, value, size, &is.subject, NULL) && is.subject.owner == user;
    if (record->topic == &TOPIC_COMMENTS)
        return !event_decode_comment(codec, value, size, &is.comment, NULL) && is.comment.user == user;
    if (record->topic == &TOPIC_COMMENT_TEXTS)
        return !event_decode_comment_text(codec, value, size, &is.text, NULL) &&
               (is.text.user == user || is.text.editor == user);
    if (record->topic == &TOPIC_COMMENT_REFUSALS)
        return !event_decode_comment_refusal(codec, value, size, &is.refusal, NULL) && is.refusal.user == user;
    if (record->topic == &TOPIC_MODERATION_LOG)
        return !event_decode_moderation_entry(codec, value, size, &is.entry, NULL) &&
               (is.entry.user == user || is.entry.author == user);
    if (record->topic == &TOPIC_AUDIT)
        return !event_decode_audit_entry(codec, value, size, &is.audit, NULL) &&
               (is.audit.user == user || is.audit.about == user);
    return !event_decode_comment_wide(codec, value, size, &is.wide, NULL) &&
           (is.wide.user == user || is.wide.owner == user);
}

bool record_concerns(struct codec *codec, const struct kafka_record *record, int64_t user) {
    const void *value = record->value;
    size_t size = record->value_size;
    if (has_batches(record->topic)) return value && delivery_concerns(codec, value, size, user);
    if (is_of_subjects(record->topic)) return names_user(codec, record, user);
    if (record->topic == &TOPIC_FEED_WATCHES) return is_watch_of(record, user);
    if (record->key && record->key_size >= USER_KEY && number_at(record->key) == user) return true;
    if (value && record->topic == &TOPIC_FRIEND_COMMANDS) {
        struct friend_command command;
        return event_decode_friend_command(codec, value, size, &command, NULL) == 0 &&
               (command.from == user || command.to == user);
    }
    if (value && record->topic == &TOPIC_FOLLOW_COMMANDS) {
        struct follow_command command;
        return event_decode_follow_command(codec, value, size, &command, NULL) == 0 &&
               (command.user == user || command.other == user);
    }
    if (value && record->topic == &TOPIC_FOLLOWER_COMMANDS) {
        struct follower_command command;
        return event_decode_follower_command(codec, value, size, &command, NULL) == 0 &&
               (command.author == user || command.reader == user);
    }
    if (value && record->topic == &TOPIC_NAME_COMMANDS) {
        struct name_command command;
        return event_decode_name_command(codec, value, size, &command, NULL) == 0 && command.user == user;
    }
    if (value && record->topic == &TOPIC_NAMES) {
        struct handle_user holder;
        return event_decode_handle_user(codec, value, size, &holder, NULL) == 0 && holder.user == user;
    }
    return false;
}
