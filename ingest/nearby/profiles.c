#include "ingest/nearby/parts.h"

#include <errno.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/topics.h"
#include "users/user_json.h"

enum { NAME_MAX_BYTES = 200, URL_MAX_BYTES = 1000 };

static void put_profile_json(struct buffer *body, int64_t user, const struct profile *profile) {
    buffer_byte(body, '{');
    user_json_put(body, user, profile);
    buffer_byte(body, '}');
}

static void reply_profile(const struct nearby_gateway *nearby, const struct call *call, int64_t user) {
    struct profile profile;
    if (!profiles_find(user_copies_profiles(nearby->copies), user, &profile)) {
        http_problem(call->request, 404, "no_profile", "the user has no profile", 0);
        return;
    }
    struct buffer body = {0};
    put_profile_json(&body, user, &profile);
    http_reply_tagged(call->request, &body);
    buffer_free(&body);
}

static void get_profile(void *state, const struct call *call) { reply_profile(state, call, call->claims.user); }

static void get_profile_of(void *state, const struct call *call) { reply_profile(state, call, call->values[0].user); }

static int parse_profile(const json_t *object, struct profile *profile, struct error *error) {
    const char *name, *url = "";
    if (json_want_text(object, "name", &name, error)) return -EINVAL;
    if (json_want_text(object, "avatar_url", &url, error) == -EINVAL) return -EINVAL;
    *profile = (struct profile){.name = {name, strlen(name)}, .avatar_url = {url, strlen(url)}};
    if (profile->name.size == 0 || profile->name.size > NAME_MAX_BYTES)
        return error_set(error, -EINVAL, "\"name\" must have 1 to %d bytes", NAME_MAX_BYTES);
    const char *fault = text_name_fault(name, profile->name.size);
    if (fault) return error_set(error, -EINVAL, "\"name\" %s", fault);
    if (profile->avatar_url.size > URL_MAX_BYTES)
        return error_set(error, -EINVAL, "\"avatar_url\" must have at most %d bytes", URL_MAX_BYTES);
    if (*url && strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0)
        return error_set(error, -EINVAL, "\"avatar_url\" must begin with https:// or http://");
    return 0;
}

static void put_profile(void *state, const struct call *call) {
    const struct nearby_gateway *nearby = state;
    json_t *object = call_body(call);
    if (!object) return;
    struct profile profile;
    struct error error;
    if (parse_profile(object, &profile, &error)) {
        http_problem(call->request, 400, "bad_profile", error.text, 0);
    } else {
        struct buffer record = {0}, *body = mem_zero(1, sizeof *body);
        put_profile_json(body, call->claims.user, &profile);
        event_encode_profile(&record, &profile);
        struct write *write = write_new(nearby->core.writer, call->request, write_answer, body);
        write_user(write, &TOPIC_PROFILES, call->claims.user, &record);
        write_end(write);
        buffer_free(&record);
    }
    json_decref(object);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/profile", get_profile, NEEDS_USER},
    {"PUT", "/v1/profile", put_profile, NEEDS_USER},
    {"GET", "/v1/profiles/{user}", get_profile_of, NEEDS_TOKEN},
};
const struct endpoint_list PROFILES_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
