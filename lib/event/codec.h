/* The records of all topics: decoding, encoding and the Confluent wire format around them.
 *
 * The structs and the *_write / *_read functions of event/records.h are generated at build time from schemas/ (the newest
 * version of each record). Strings and arrays in a decoded struct point into the input or into the codec's scratch memory:
 * valid until the next decode with the same codec. One thread at a time per codec; avro-c's
 * error text is process-global, so event_to_json belongs to one thread of the process.
 *
 * Generated per top-level record X (location, friend_command, friendship, profile, sharing, history_row, command_offset,
 * nearby_item, follow_command, follow, follow_refusal, post_command, post, post_text, timeline_item, name_command, user_name,
 * handle_user, notice, feed_change, comment_command, comment_subject, comment, comment_text, comment_reaction, comment_refusal,
 * comment_ban, moderation_entry, comment_wide, comment_change, location_reports, nearby_mute,
 * audit_entry):
 *
 *     struct location { int64_t user; int32_t lat, lng; int64_t time; enum location_kind kind; ... };
 *     enum location_kind { LOCATION_REPORT, LOCATION_JOIN, ... };      // enum name + symbol, e.g. FRIENDSHIP_STATE_FRIENDS is
 *                                                                      // shortened to FRIENDSHIP_FRIENDS: prefix = record name
 *     size_t location_size_max(const struct location *record);         // bytes that location_write needs at most
 *     enum { LOCATION_SIZE_MAX = 70 };                                 // the same, if without strings and arrays
 *     uint8_t *location_write(uint8_t *at, const struct location *record);      // bare Avro, returns the end
 *     const uint8_t *location_read(const uint8_t *at, const uint8_t *end, struct location *record, struct codec *scratch);
 *                                                                      // NULL when malformed
 *     location_reader *location_reader_of(uint32_t id);                // location_read, or the reader of an older version's
 *                                                                      // bytes into the same struct; NULL: not a location
 *     struct event_text { const char *data; size_t size; };            // Avro string, not NUL-terminated
 *     struct event_bytes { const uint8_t *data; size_t size; };        // Avro bytes
 *     struct event_longs { const int64_t *items; size_t count; };      // array of long
 *     struct event_texts { const struct event_text *items; size_t count; };     // array of string
 *     struct roster_friends { const struct roster_friend *items; size_t count; };
 *
 * A record whose only field is a union, as nearby_item, is a kind and a C union: struct nearby_item { enum nearby_item_kind
 * kind; union { struct move move; struct roster roster; ... }; } with kinds NEARBY_ITEM_MOVE and so on. A branch whose name begins as
 * the record's does loses that there: struct timeline_item has struct timeline_push push, and TIMELINE_ITEM_PUSH.
 *
 * For DeliveryBatches, only the schemas are here: lib/deliver writes and reads them an envelope at a time, so that a batch is never
 * materialised, and event/delivery.h reads the payloads. lib/watch writes and reads the records of watching (watch, roll_call,
 * watch_note) without this header; tests compare its bytes with these codecs.
 */
#ifndef EVENT_CODEC_H
#define EVENT_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "event/records.h"

enum event_record {
    EVENT_LOCATION,
    EVENT_FRIEND_COMMAND,
    EVENT_FRIENDSHIP,
    EVENT_PROFILE,
    EVENT_SHARING,
    EVENT_HISTORY_ROW,
    EVENT_COMMAND_OFFSET,
    EVENT_NEARBY_ITEM,
    EVENT_FOLLOW_COMMAND,
    EVENT_FOLLOW,
    EVENT_FOLLOW_REFUSAL,
    EVENT_POST_COMMAND,
    EVENT_POST,
    EVENT_POST_TEXT,
    EVENT_TIMELINE_ITEM,
    EVENT_FEED_CHANGE,
    EVENT_COMMENT_CHANGE,
    EVENT_NAME_COMMAND,
    EVENT_USER_NAME,
    EVENT_HANDLE_USER,
    EVENT_NOTICE,
    EVENT_COMMENT_COMMAND,
    EVENT_COMMENT_SUBJECT,
    EVENT_COMMENT,
    EVENT_COMMENT_TEXT,
    EVENT_COMMENT_REACTION,
    EVENT_COMMENT_REFUSAL,
    EVENT_COMMENT_BAN,
    EVENT_MODERATION_ENTRY,
    EVENT_COMMENT_WIDE,
    EVENT_LOCATION_REPORTS,
    EVENT_NEARBY_MUTE,
    EVENT_AUDIT_ENTRY,
    EVENT_RECORDS
};

enum { EVENT_HEADER_SIZE = 5 }; /* 0x00 and the schema id, big-endian */

struct codec; /* scratch memory for arrays, and avro-c's schemas for event_to_json (made on first use) */
struct codec *codec_new(void);
void codec_free(struct codec *codec);

/* The schema of an id, NULL when there is none. Static. */
const struct event_schema *event_schema_find(uint32_t id);

/* Writes the wire header of the newest version of a record; returns the end. */
uint8_t *event_header_write(uint8_t *at, enum event_record record);

/* A whole Kafka value: header and record. 0, -EBADMSG (not the wire format, or malformed, or bytes left over) or -ENOENT
 * (unknown schema id or the id of another record), with the reason in error. An older version's bytes are read into the
 * newest struct by Avro's rules of schema resolution. */
int event_decode_location(struct codec *codec, const void *value, size_t size, struct location *record,
                          struct error *error);
int event_decode_friend_command(struct codec *codec, const void *value, size_t size, struct friend_command *record,
                                struct error *error);
int event_decode_friendship(struct codec *codec, const void *value, size_t size, struct friendship *record,
                            struct error *error);
int event_decode_profile(struct codec *codec, const void *value, size_t size, struct profile *record,
                         struct error *error);
int event_decode_sharing(struct codec *codec, const void *value, size_t size, struct sharing *record,
                         struct error *error);
int event_decode_command_offset(struct codec *codec, const void *value, size_t size, struct command_offset *record,
                                struct error *error);
int event_decode_follow_command(struct codec *codec, const void *value, size_t size, struct follow_command *record,
                                struct error *error);
int event_decode_follow(struct codec *codec, const void *value, size_t size, struct follow *record,
                        struct error *error);
int event_decode_follow_refusal(struct codec *codec, const void *value, size_t size, struct follow_refusal *record,
                                struct error *error);
int event_decode_post_command(struct codec *codec, const void *value, size_t size, struct post_command *record,
                              struct error *error);
int event_decode_post(struct codec *codec, const void *value, size_t size, struct post *record, struct error *error);
int event_decode_post_text(struct codec *codec, const void *value, size_t size, struct post_text *record,
                           struct error *error);
int event_decode_feed_change(struct codec *codec, const void *value, size_t size, struct feed_change *record,
                             struct error *error);
int event_decode_comment_change(struct codec *codec, const void *value, size_t size, struct comment_change *record,
                                struct error *error);
int event_decode_name_command(struct codec *codec, const void *value, size_t size, struct name_command *record,
                              struct error *error);
int event_decode_user_name(struct codec *codec, const void *value, size_t size, struct user_name *record,
                           struct error *error);
int event_decode_handle_user(struct codec *codec, const void *value, size_t size, struct handle_user *record,
                             struct error *error);
int event_decode_notice(struct codec *codec, const void *value, size_t size, struct notice *record,
                        struct error *error);
int event_decode_comment_command(struct codec *codec, const void *value, size_t size, struct comment_command *record,
                                 struct error *error);
int event_decode_comment_subject(struct codec *codec, const void *value, size_t size, struct comment_subject *record,
                                 struct error *error);
int event_decode_comment(struct codec *codec, const void *value, size_t size, struct comment *record,
                         struct error *error);
int event_decode_comment_text(struct codec *codec, const void *value, size_t size, struct comment_text *record,
                              struct error *error);
int event_decode_comment_reaction(struct codec *codec, const void *value, size_t size, struct comment_reaction *record,
                                  struct error *error);
int event_decode_comment_refusal(struct codec *codec, const void *value, size_t size, struct comment_refusal *record,
                                 struct error *error);
int event_decode_comment_ban(struct codec *codec, const void *value, size_t size, struct comment_ban *record,
                             struct error *error);
int event_decode_moderation_entry(struct codec *codec, const void *value, size_t size, struct moderation_entry *record,
                                  struct error *error);
int event_decode_comment_wide(struct codec *codec, const void *value, size_t size, struct comment_wide *record,
                              struct error *error);
int event_decode_audit_entry(struct codec *codec, const void *value, size_t size, struct audit_entry *record,
                             struct error *error);
int event_decode_nearby_mute(struct codec *codec, const void *value, size_t size, struct nearby_mute *record,
                             struct error *error);
int event_decode_location_reports(struct codec *codec, const void *value, size_t size, struct location_reports *record,
                                  struct error *error);

/* Appends header and record to out. */
void event_encode_location(struct buffer *out, const struct location *record);
void event_encode_friend_command(struct buffer *out, const struct friend_command *record);
void event_encode_friendship(struct buffer *out, const struct friendship *record);
void event_encode_profile(struct buffer *out, const struct profile *record);
void event_encode_sharing(struct buffer *out, const struct sharing *record);
void event_encode_command_offset(struct buffer *out, const struct command_offset *record);
void event_encode_follow_command(struct buffer *out, const struct follow_command *record);
void event_encode_follow(struct buffer *out, const struct follow *record);
void event_encode_follow_refusal(struct buffer *out, const struct follow_refusal *record);
void event_encode_post_command(struct buffer *out, const struct post_command *record);
void event_encode_post(struct buffer *out, const struct post *record);
void event_encode_post_text(struct buffer *out, const struct post_text *record);
void event_encode_feed_change(struct buffer *out, const struct feed_change *record);
void event_encode_comment_change(struct buffer *out, const struct comment_change *record);
void event_encode_name_command(struct buffer *out, const struct name_command *record);
void event_encode_user_name(struct buffer *out, const struct user_name *record);
void event_encode_handle_user(struct buffer *out, const struct handle_user *record);
void event_encode_notice(struct buffer *out, const struct notice *record);
void event_encode_comment_command(struct buffer *out, const struct comment_command *record);
void event_encode_comment_subject(struct buffer *out, const struct comment_subject *record);
void event_encode_comment(struct buffer *out, const struct comment *record);
void event_encode_comment_text(struct buffer *out, const struct comment_text *record);
void event_encode_comment_reaction(struct buffer *out, const struct comment_reaction *record);
void event_encode_comment_refusal(struct buffer *out, const struct comment_refusal *record);
void event_encode_comment_ban(struct buffer *out, const struct comment_ban *record);
void event_encode_moderation_entry(struct buffer *out, const struct moderation_entry *record);
void event_encode_comment_wide(struct buffer *out, const struct comment_wide *record);
void event_encode_audit_entry(struct buffer *out, const struct audit_entry *record);
void event_encode_nearby_mute(struct buffer *out, const struct nearby_mute *record);
void event_encode_location_reports(struct buffer *out, const struct location_reports *record);

/* Any record, in the version it was written in, as one line of JSON for people (by avro-c: as Avro encodes in JSON,
 * a union's value is {"Move": {...}}), without a newline. out is appended to. Fails as event_decode_* do. */
int event_to_json(struct codec *codec, const void *value, size_t size, struct buffer *out, struct error *error);

#endif
