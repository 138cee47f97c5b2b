#include "ingest/nearby/parts.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "event/codec.h"
#include "event/topics.h"
#include "users/half.h"

enum { LIMIT_DEFAULT = 20, LIMIT_MAX = 1000 };

static void write_mute(const struct nearby_gateway *nearby, const struct call *call, int64_t other, bool muted) {
    uint8_t key[HALF_KEY_SIZE];
    struct buffer record = {0}, *body = mem_zero(1, sizeof *body);
    buffer_format(body, "{\"user\":%" PRId64 ",\"muted\":%s}", other, muted ? "true" : "false");
    half_key_put(key, call->claims.user, other);
    if (muted) event_encode_nearby_mute(&record, &(struct nearby_mute){.since = clock_wall_ms()});
    struct write *write = write_new(nearby->core.writer, call->request, write_answer, body);
    write_keyed(write, &TOPIC_NEARBY_MUTES, key, sizeof key, &record);
    write_end(write);
    buffer_free(&record);
}

static bool is_self(const struct call *call) {
    if (call->claims.user != call->values[0].user) return false;
    http_problem(call->request, 400, "same_user", "the two users are the same", 0);
    return true;
}

static void put_mute(void *state, const struct call *call) {
    const struct nearby_gateway *nearby = state;
    const struct mutes *mutes = user_copies_mutes(nearby->copies);
    int64_t user = call->claims.user, other = call->values[0].user;
    if (is_self(call)) return;
    if (mutes_of(mutes, user).count >= MUTES_MAX && !mutes_has(mutes, user, other))
        http_problem(call->request, 409, "mutes_limit", "the user mutes as many others as anybody may", 0);
    else
        write_mute(nearby, call, other, true);
}

/* Written in any case: the copy may be behind. */
static void delete_mute(void *state, const struct call *call) {
    if (!is_self(call)) write_mute(state, call, call->values[0].user, false);
}

static void get_mutes(void *state, const struct call *call) {
    const struct nearby_gateway *nearby = state;
    int64_t after = -1, limit = LIMIT_DEFAULT;
    if (!call_query_int(call, "after", &after) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    struct mutes_list list = mutes_of(user_copies_mutes(nearby->copies), call->claims.user);
    size_t at = after < 0 || !list.count ? 0 : sorted_below(list.items, list.count, after);
    if (after >= 0 && at < list.count && list.items[at] == after) at++;
    size_t end = list.count - at > (size_t)limit ? at + (size_t)limit : list.count;
    struct buffer body = {0};
    buffer_string(&body, "{\"items\":[");
    for (size_t i = at; i < end; i++)
        buffer_format(&body, "%s{\"user\":%" PRId64 "}", i > at ? "," : "", list.items[i]);
    if (end < list.count)
        buffer_format(&body, "],\"next\":%" PRId64 "}", list.items[end - 1]);
    else
        buffer_string(&body, "],\"next\":null}");
    http_reply_json_free(call->request, 200, &body);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/nearby/mutes", get_mutes, NEEDS_USER},
    {"PUT", "/v1/nearby/mutes/{user}", put_mute, NEEDS_USER},
    {"DELETE", "/v1/nearby/mutes/{user}", delete_mute, NEEDS_USER},
};
const struct endpoint_list NEARBY_MUTES_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
