#include "ingest/moderation/bans.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/chance.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "edits/encode.h"
#include "event/codec.h"
#include "event/topics.h"
#include "ingest/client_text.h"
#include "ingest/write.h"
#include "subjects/subject.h"

enum { NUMBER_BITS = 20 /* random ones behind a time: two gateways may write in the same millisecond */ };

/* The decision, for the log: under a key of its own, so that no later one replaces it. */
static void write_entry(struct write *write, int64_t user, const struct comment_ban *ban,
                        enum moderation_entry_what what) {
    const struct moderation_entry entry = {
        .what = what,
        .user = ban->moderator,
        .role = MODERATION_ENTRY_MODERATOR,
        .author = user,
        .reason = ban->reason,
        .time = ban->time,
        .until = what == MODERATION_ENTRY_BAN ? ban->until : 0,
    };
    struct chance chance = chance_new();
    char subject[SUBJECT_MAX + 1];
    uint8_t key[SUBJECT_KEY_MAX];
    struct buffer record = {0};
    const struct subject_key parts = {
        .subject = subject,
        .size = (size_t)snprintf(subject, sizeof subject, "user:%" PRId64, user),
        .numbers = 2,
        .second = ban->time << NUMBER_BITS | (chance_next(&chance) & ((1 << NUMBER_BITS) - 1)),
    };
    edit_encode_moderation_entry(&record, &entry);
    write_keyed(write, &TOPIC_MODERATION_LOG, key, subject_key_write(key, &parts), &record);
    buffer_free(&record);
}

/* A ban whose entry is on its way to the log. */
struct pending_ban {
    struct writer *writer;
    int64_t user;
    struct buffer record;
    struct buffer *body; /* of the answer; NULL: 204 */
};

/* The ban follows its entry, so that there is no ban that the log does not tell of. */
static void entry_written(void *context, struct http_request *request, int code, int32_t partition, int64_t offset) {
    struct pending_ban *ban = context;
    if (code) {
        write_answer(ban->body, request, code, partition, offset);
    } else {
        struct write *write = write_new(ban->writer, request, write_answer, ban->body);
        write_user(write, &TOPIC_BANS, ban->user, &ban->record);
        write_end(write);
    }
    buffer_free(&ban->record);
    free(ban);
}

static void write_ban(struct writer *writer, const struct call *call, const struct comment_ban *ban,
                      enum moderation_entry_what what, struct buffer *body) {
    struct pending_ban *pending =
        MEM_NEW(&(struct pending_ban){.writer = writer, .user = call->values[0].user, .body = body});
    event_encode_comment_ban(&pending->record, ban);
    struct write *write = write_new(writer, call->request, entry_written, pending);
    write_entry(write, pending->user, ban, what);
    write_end(write);
}

static struct buffer *ban_body(int64_t user, const struct comment_ban *ban) {
    struct buffer *body = mem_zero(1, sizeof *body);
    buffer_format(body, "{\"user\":%" PRId64 ",\"until\":", user);
    if (ban->until)
        json_put_int(body, ban->until);
    else
        buffer_string(body, "null");
    buffer_string(body, ",\"reason\":");
    json_put_text(body, ban->reason.data, ban->reason.size);
    buffer_byte(body, '}');
    return body;
}

static void put_ban(void *state, const struct call *call) {
    struct comment_ban ban = {.moderator = call->claims.user, .time = clock_wall_ms()};
    struct error error;
    json_t *object = call_body(call);
    if (!object) return;
    if (!client_text_read(object, "reason", COMMENT_REASON_POINTS_MAX, &ban.reason, &error))
        http_problem(call->request, 400, "bad_reason", error.text, 0);
    else if (json_want_int(object, "until", 1, EVENT_TIME_MAX, &ban.until, &error) == -EINVAL)
        http_problem(call->request, 400, "bad_time", error.text, 0);
    else
        write_ban(state, call, &ban, MODERATION_ENTRY_BAN, ban_body(call->values[0].user, &ban));
    json_decref(object);
}

/* A ban until now, and no tombstone: so it stays known who lifted it. */
static void delete_ban(void *state, const struct call *call) {
    int64_t now = clock_wall_ms();
    struct comment_ban ban = {.until = now, .moderator = call->claims.user, .reason = {"lifted", 6}, .time = now};
    write_ban(state, call, &ban, MODERATION_ENTRY_UNBAN, NULL);
}

static const struct endpoint ENDPOINTS[] = {
    {"PUT", "/v1/moderation/bans/{user}", put_ban, NEEDS_MODERATOR},
    {"DELETE", "/v1/moderation/bans/{user}", delete_ban, NEEDS_MODERATOR},
};
const struct endpoint_list BANS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
