#include "event/codec.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "event/private.h"
#include "event/wire.h"

/*  chunks -> [ newest: used bytes | free ] -> [ older, full ] -> ... -> NULL
 *
 * Arrays of one record lie in any of the chunks; a reset keeps the newest alone, so that after a few decodes one chunk is
 * large enough and nothing is allocated any more. */
struct scratch_chunk {
    struct scratch_chunk *older;
    size_t size;
    _Alignas(max_align_t) uint8_t bytes[];
};

enum { SCRATCH_FIRST = 4096 };

struct codec *codec_new(void) {
    struct codec *codec = mem_alloc(sizeof *codec);
    *codec = (struct codec){.chunks = NULL, .used = 0, .values = NULL};
    return codec;
}

static void chunks_free(struct scratch_chunk *chunk) {
    while (chunk) {
        struct scratch_chunk *older = chunk->older;
        free(chunk);
        chunk = older;
    }
}

void codec_free(struct codec *codec) {
    if (!codec) return;
    chunks_free(codec->chunks);
    json_values_free(codec->values);
    free(codec);
}

void codec_scratch_reset(struct codec *codec) {
    codec->used = 0;
    if (codec->chunks && codec->chunks->older) {
        chunks_free(codec->chunks->older);
        codec->chunks->older = NULL;
    }
}

void *wire_scratch_grow(struct codec *scratch, const void *items, size_t used, size_t size) {
    size = (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
    if (!scratch->chunks || scratch->chunks->size - scratch->used < size) {
        size_t room = scratch->chunks ? 2 * scratch->chunks->size : SCRATCH_FIRST;
        if (room < size) room = size;
        struct scratch_chunk *chunk = mem_alloc(sizeof *chunk + room);
        chunk->older = scratch->chunks;
        chunk->size = room;
        scratch->chunks = chunk;
        scratch->used = 0;
    }
    void *place = scratch->chunks->bytes + scratch->used;
    scratch->used += size;
    if (used > 0) memcpy(place, items, used);
    return place;
}

const struct event_schema *event_schema_find(uint32_t id) {
    for (size_t i = 0; i < EVENT_SCHEMAS; i++) {
        if (event_schemas[i].id == id) return &event_schemas[i];
    }
    return NULL;
}

uint8_t *event_header_write(uint8_t *at, enum event_record record) {
    static const uint32_t newest[EVENT_RECORDS] = {
        [EVENT_LOCATION] = LOCATION_SCHEMA_ID,
        [EVENT_FRIEND_COMMAND] = FRIEND_COMMAND_SCHEMA_ID,
        [EVENT_FRIENDSHIP] = FRIENDSHIP_SCHEMA_ID,
        [EVENT_PROFILE] = PROFILE_SCHEMA_ID,
        [EVENT_SHARING] = SHARING_SCHEMA_ID,
        [EVENT_HISTORY_ROW] = HISTORY_ROW_SCHEMA_ID,
        [EVENT_NEARBY_ITEM] = NEARBY_ITEM_SCHEMA_ID,
        [EVENT_COMMAND_OFFSET] = COMMAND_OFFSET_SCHEMA_ID,
        [EVENT_FOLLOW_COMMAND] = FOLLOW_COMMAND_SCHEMA_ID,
        [EVENT_FOLLOW] = FOLLOW_SCHEMA_ID,
        [EVENT_FOLLOW_REFUSAL] = FOLLOW_REFUSAL_SCHEMA_ID,
        [EVENT_POST_COMMAND] = POST_COMMAND_SCHEMA_ID,
        [EVENT_POST] = POST_SCHEMA_ID,
        [EVENT_POST_TEXT] = POST_TEXT_SCHEMA_ID,
        [EVENT_FEED_CHANGE] = FEED_CHANGE_SCHEMA_ID,
        [EVENT_COMMENT_CHANGE] = COMMENT_CHANGE_SCHEMA_ID,
        [EVENT_TIMELINE_ITEM] = TIMELINE_ITEM_SCHEMA_ID,
        [EVENT_NAME_COMMAND] = NAME_COMMAND_SCHEMA_ID,
        [EVENT_USER_NAME] = USER_NAME_SCHEMA_ID,
        [EVENT_HANDLE_USER] = HANDLE_USER_SCHEMA_ID,
        [EVENT_NOTICE] = NOTICE_SCHEMA_ID,
        [EVENT_COMMENT_COMMAND] = COMMENT_COMMAND_SCHEMA_ID,
        [EVENT_COMMENT_SUBJECT] = COMMENT_SUBJECT_SCHEMA_ID,
        [EVENT_COMMENT] = COMMENT_SCHEMA_ID,
        [EVENT_COMMENT_TEXT] = COMMENT_TEXT_SCHEMA_ID,
        [EVENT_COMMENT_REACTION] = COMMENT_REACTION_SCHEMA_ID,
        [EVENT_COMMENT_REFUSAL] = COMMENT_REFUSAL_SCHEMA_ID,
        [EVENT_COMMENT_BAN] = COMMENT_BAN_SCHEMA_ID,
        [EVENT_MODERATION_ENTRY] = MODERATION_ENTRY_SCHEMA_ID,
        [EVENT_COMMENT_WIDE] = COMMENT_WIDE_SCHEMA_ID,
        [EVENT_LOCATION_REPORTS] = LOCATION_REPORTS_SCHEMA_ID,
        [EVENT_NEARBY_MUTE] = NEARBY_MUTE_SCHEMA_ID,
        [EVENT_AUDIT_ENTRY] = AUDIT_ENTRY_SCHEMA_ID,
    };
    at[0] = 0;
    bytes_put_be32(at + 1, newest[record]);
    return at + EVENT_HEADER_SIZE;
}

const uint8_t *event_header_read(const void *value, size_t size, uint32_t *id, struct error *error) {
    const uint8_t *at = value;
    if (size < EVENT_HEADER_SIZE || at[0] != 0) {
        error_set(error, -EBADMSG, "not the Confluent wire format: %zu bytes%s", size,
                  size < EVENT_HEADER_SIZE ? "" : ", and the first is not 0");
        return NULL;
    }
    *id = bytes_get_be32(at + 1);
    return at + EVENT_HEADER_SIZE;
}

static int event_wrong_id(uint32_t id, const char *record, struct error *error) {
    const struct event_schema *schema = event_schema_find(id);
    if (!schema) return error_set(error, -ENOENT, "unknown schema id %u", id);
    return error_set(error, -ENOENT, "schema id %u is a %s, not a %s", id, schema->record, record);
}

static int malformed(uint32_t id, const uint8_t *at, const uint8_t *end, struct error *error) {
    const struct event_schema *schema = event_schema_find(id);
    if (schema->find_end(at, end) == end)
        return error_set(error, -EBADMSG, "a %s with a value that is out of range", schema->record);
    return error_set(error, -EBADMSG, "malformed %s of %zu bytes", schema->record,
                     EVENT_HEADER_SIZE + (size_t)(end - at));
}

/* The same for each record, but for its type. */
#define DEFINE_RECORD(NAME, TEXT, RECORD)                                                                              \
    int event_decode_##NAME(struct codec *codec, const void *value, size_t size, struct NAME *record,                  \
                            struct error *error) {                                                                     \
        uint32_t id;                                                                                                   \
        struct NAME decoded;                                                                                           \
        const uint8_t *at = event_header_read(value, size, &id, error), *end = (const uint8_t *)value + size;          \
        if (!at) return -EBADMSG;                                                                                      \
        NAME##_reader *read = NAME##_reader_of(id);                                                                    \
        if (!read) return event_wrong_id(id, TEXT, error);                                                             \
        codec_scratch_reset(codec);                                                                                    \
        if (read(at, end, &decoded, codec) != end) return malformed(id, at, end, error);                               \
        *record = decoded;                                                                                             \
        return 0;                                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    void event_encode_##NAME(struct buffer *out, const struct NAME *record) {                                          \
        uint8_t *start = buffer_reserve(out, EVENT_HEADER_SIZE + NAME##_size_max(record));                             \
        uint8_t *end = NAME##_write(event_header_write(start, RECORD), record);                                        \
        buffer_commit(out, (size_t)(end - start));                                                                     \
    }

DEFINE_RECORD(location, "location", EVENT_LOCATION)
DEFINE_RECORD(friend_command, "friend-command", EVENT_FRIEND_COMMAND)
DEFINE_RECORD(friendship, "friendship", EVENT_FRIENDSHIP)
DEFINE_RECORD(profile, "profile", EVENT_PROFILE)
DEFINE_RECORD(sharing, "sharing", EVENT_SHARING)
DEFINE_RECORD(nearby_mute, "nearby-mute", EVENT_NEARBY_MUTE)
DEFINE_RECORD(command_offset, "command-offset", EVENT_COMMAND_OFFSET)
DEFINE_RECORD(follow_command, "follow-command", EVENT_FOLLOW_COMMAND)
DEFINE_RECORD(follow, "follow", EVENT_FOLLOW)
DEFINE_RECORD(follow_refusal, "follow-refusal", EVENT_FOLLOW_REFUSAL)
DEFINE_RECORD(post_command, "post-command", EVENT_POST_COMMAND)
DEFINE_RECORD(post, "post", EVENT_POST)
DEFINE_RECORD(post_text, "post-text", EVENT_POST_TEXT)
DEFINE_RECORD(feed_change, "feed-change", EVENT_FEED_CHANGE)
DEFINE_RECORD(comment_change, "comment-change", EVENT_COMMENT_CHANGE)
DEFINE_RECORD(name_command, "name-command", EVENT_NAME_COMMAND)
DEFINE_RECORD(user_name, "user-name", EVENT_USER_NAME)
DEFINE_RECORD(handle_user, "handle-user", EVENT_HANDLE_USER)
DEFINE_RECORD(notice, "notice", EVENT_NOTICE)
DEFINE_RECORD(comment_command, "comment-command", EVENT_COMMENT_COMMAND)
DEFINE_RECORD(comment_subject, "comment-subject", EVENT_COMMENT_SUBJECT)
DEFINE_RECORD(comment, "comment", EVENT_COMMENT)
DEFINE_RECORD(comment_text, "comment-text", EVENT_COMMENT_TEXT)
DEFINE_RECORD(comment_reaction, "comment-reaction", EVENT_COMMENT_REACTION)
DEFINE_RECORD(comment_refusal, "comment-refusal", EVENT_COMMENT_REFUSAL)
DEFINE_RECORD(comment_ban, "comment-ban", EVENT_COMMENT_BAN)
DEFINE_RECORD(moderation_entry, "moderation-entry", EVENT_MODERATION_ENTRY)
DEFINE_RECORD(audit_entry, "audit-entry", EVENT_AUDIT_ENTRY)
DEFINE_RECORD(comment_wide, "comment-wide", EVENT_COMMENT_WIDE)
DEFINE_RECORD(location_reports, "location-reports", EVENT_LOCATION_REPORTS)
