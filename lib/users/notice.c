#include "users/notice.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"
#include "json/json.h"

enum { TIME_AT = 8, KIND_AT = 16, NUMBER_AT = 17 };
enum { NOTICE_V1 = 26, NOTICE_V1_LACKS = 3 /* likes, distance, place: 0 */, NOTICE_V2 = 129, NOTICE_V2_LACKS = 1 };

const char *const NOTICE_WORDS[NOTICE_KINDS + 1] = {"",
                                                    [NOTICE_OF_FOLLOW] = "follow",
                                                    [NOTICE_OF_MENTION] = "mention",
                                                    [NOTICE_OF_REPLY] = "reply",
                                                    [NOTICE_OF_REQUEST] = "request",
                                                    [NOTICE_OF_ACCEPTED] = "accepted",
                                                    [NOTICE_OF_LIKE] = "like",
                                                    [NOTICE_OF_APPROACH] = "approach",
                                                    [NOTICE_OF_ARRIVED] = "arrived",
                                                    [NOTICE_OF_LEFT] = "left",
                                                    NULL};

bool notice_is_kind(int64_t kind) { return kind > 0 && kind < NOTICE_KINDS; }

bool notice_is_newer(const struct notice_key *a, const struct notice_key *b) {
    if (a->time != b->time) return a->time > b->time;
    if (a->kind != b->kind) return a->kind < b->kind;
    return a->number < b->number;
}

void notice_key_write(uint8_t bytes[NOTICE_KEY_SIZE], const struct notice_key *key) {
    bytes_put_be64(bytes, (uint64_t)key->user);
    bytes_put_be64(bytes + TIME_AT, (uint64_t)(INT64_MAX - key->time));
    bytes[KIND_AT] = (uint8_t)key->kind;
    bytes_put_be64(bytes + NUMBER_AT, (uint64_t)key->number);
}

bool notice_key_read(const void *bytes, size_t size, struct notice_key *key) {
    const uint8_t *at = bytes;
    if (!bytes || size != NOTICE_KEY_SIZE || !notice_is_kind(at[KIND_AT])) return false;
    int64_t back = (int64_t)bytes_get_be64(at + TIME_AT);
    struct notice_key read = {
        .user = (int64_t)bytes_get_be64(at),
        .time = back < 0 ? -1 : INT64_MAX - back,
        .kind = (enum notice_kind)at[KIND_AT],
        .number = (int64_t)bytes_get_be64(at + NUMBER_AT),
    };
    if (read.user < 0 || read.time < 0 || read.number < 0) return false;
    *key = read;
    return true;
}

void notice_id_put(struct buffer *out, const struct notice_key *key) {
    buffer_format(out, "%" PRId64 ".%d.%" PRId64, key->time, (int)key->kind, key->number);
}

/* The number before the next dot, or before the end. */
static bool next_number(const char **text, char end, int64_t *number) {
    size_t size = strcspn(*text, ".");
    if ((*text)[size] != end || !text_number(*text, size, INT64_MAX, number)) return false;
    *text += size + (end != '\0');
    return true;
}

bool notice_id_read(const char *text, struct notice_key *key) {
    int64_t time, kind, number;
    if (!next_number(&text, '.', &time) || !next_number(&text, '.', &kind) || !next_number(&text, '\0', &number) ||
        !notice_is_kind(kind))
        return false;
    key->time = time;
    key->kind = (enum notice_kind)kind;
    key->number = number;
    return true;
}

void notice_put_about(struct buffer *out, const struct notice_key *key, const struct notice *notice) {
    buffer_string(out, ",\"subject\":");
    if (notice->subject.size)
        json_put_text(out, notice->subject.data, notice->subject.size);
    else
        buffer_string(out, "null");
    if (notice->comment)
        buffer_format(out, ",\"comment\":\"%" PRId64 "\"", notice->comment);
    else
        buffer_string(out, ",\"comment\":null");
    buffer_format(out, ",\"time\":%" PRId64, key->time);
    if (key->kind == NOTICE_OF_APPROACH) {
        buffer_string(out, ",\"distance_m\":");
        json_put_fixed1(out, (double)notice->distance_dm / 10);
    } else if (key->kind > NOTICE_OF_APPROACH) {
        buffer_string(out, ",\"place\":");
        json_put_text(out, notice->place.data, notice->place.size);
    }
}

void notice_encode(struct buffer *out, const struct notice *notice) {
    size_t start = out->size;
    event_encode_notice(out, notice);
    if (notice->what <= NOTICE_REPLY)
        event_become_older(out, start, NOTICE_V1, NOTICE_V1_LACKS);
    else if (notice->what <= NOTICE_APPROACH)
        event_become_older(out, start, NOTICE_V2, NOTICE_V2_LACKS);
}

bool notice_mark(const struct notice_settings *settings, struct notice_key *mark) {
    if (!notice_is_kind(settings->read_kind)) return false;
    mark->time = settings->read_time;
    mark->kind = (enum notice_kind)settings->read_kind;
    mark->number = settings->read_number;
    return true;
}

void notice_settings_put(struct buffer *out, const struct notice_settings *settings) {
    struct notice_key mark;
    bool any = notice_mark(settings, &mark);
    buffer_string(out, any ? "\"read\":\"" : "\"read\":null");
    if (any) notice_id_put(out, &mark);
    buffer_string(out, any ? "\",\"preferences\":{" : ",\"preferences\":{");
    for (int kind = 1; kind < NOTICE_KINDS; kind++)
        buffer_format(out, "%s\"%s\":{\"live\":%s,\"push\":%s}", kind > 1 ? "," : "", NOTICE_WORDS[kind],
                      settings->not_live >> kind & 1 ? "false" : "true",
                      settings->not_push >> kind & 1 ? "false" : "true");
    buffer_byte(out, '}');
}
