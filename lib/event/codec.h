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
 * audit_entry, follower_command, visibility, notice_command, notice_settings, friend_approach,
 * link_command, user_links, place_command, user_place, place_state, place_event, place_told):
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
 *     int event_decode_location(struct codec *codec, const void *value, size_t size, struct location *record,
 *                               struct error *error);                   // a whole Kafka value
 *     void event_encode_location(struct buffer *out, const struct location *record);     // appends one
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
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "event/records.h"

/* EVENT_LOCATION, EVENT_FRIEND_COMMAND and so on. */
#define EVENT_RECORD(name, NAME, record) EVENT_##NAME,
enum event_record { EVENT_EACH(EVENT_RECORD) EVENT_RECORDS };

enum { EVENT_HEADER_SIZE = 5 }; /* 0x00 and the schema id, big-endian */

struct codec; /* scratch memory for arrays, and avro-c's schemas for event_to_json (made on first use) */
struct codec *codec_new(void);
void codec_free(struct codec *codec);

/* The schemas, by rising id; NULL: there are no more. The versions of a record follow each other in this order. Static. */
const struct event_schema *event_schema_at(size_t index);
/* The schema of an id, NULL when there is none. Static. */
const struct event_schema *event_schema_find(uint32_t id);

/* Writes the wire header of the newest version of a record; returns the end. */
uint8_t *event_header_write(uint8_t *at, enum event_record record);

/* event_encode_X appends header and record to out. event_decode_X reads such a value: 0, -EBADMSG (not the wire format, or malformed, or bytes left over) or -ENOENT
 * (unknown schema id or the id of another record), with the reason in error. An older version's bytes are read into the
 * newest struct by Avro's rules of schema resolution. */
#define EVENT_CODEC(name, NAME, text)                                                                                  \
    int event_decode_##name(struct codec *codec, const void *value, size_t size, struct name *record,                  \
                            struct error *error);                                                                      \
    void event_encode_##name(struct buffer *out, const struct name *record);
EVENT_EACH(EVENT_CODEC)

/* The record that was appended at `start` becomes one of an older version, which processes of the release before can read: `lacks` bytes at its
 * end, the defaults of newer members, go. */
void event_become_older(struct buffer *out, size_t start, uint32_t id, size_t lacks);

/* Any record, in the version it was written in, as one line of JSON for people (by avro-c: as Avro encodes in JSON,
 * a union's value is {"Move": {...}}), without a newline. out is appended to. Fails as event_decode_* do. */
int event_to_json(struct codec *codec, const void *value, size_t size, struct buffer *out, struct error *error);
