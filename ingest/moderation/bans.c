#include "ingest/moderation/bans.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "event/codec.h"
#include "event/topics.h"
#include "ingest/client_text.h"
#include "ingest/write.h"
#include "subjects/subject.h"

static void write_ban(struct writer *writer, const struct call *call, const struct comment_ban *ban,
                      struct buffer *body) {
    struct buffer record = {0};
    event_encode_comment_ban(&record, ban);
    struct write *write = write_new(writer, call->request, write_answer, body);
    write_user(write, &TOPIC_BANS, call->values[0].user, &record);
    write_end(write);
    buffer_free(&record);
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
        write_ban(state, call, &ban, ban_body(call->values[0].user, &ban));
    json_decref(object);
}

/* A ban until now, and no tombstone: so it stays known who lifted it. */
static void delete_ban(void *state, const struct call *call) {
    int64_t now = clock_wall_ms();
    struct comment_ban ban = {.until = now, .moderator = call->claims.user, .reason = {"lifted", 6}, .time = now};
    write_ban(state, call, &ban, NULL);
}

static const struct endpoint ENDPOINTS[] = {
    {"PUT", "/v1/moderation/bans/{user}", put_ban, NEEDS_MODERATOR},
    {"DELETE", "/v1/moderation/bans/{user}", delete_ban, NEEDS_MODERATOR},
};
const struct endpoint_list BANS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
