#include "ingest/nearby/parts.h"

#include <errno.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/topics.h"
#include "ingest/client_text.h"
#include "users/user_json.h"

enum { NAME_MAX_BYTES = 200, URL_MAX_BYTES = 1000, BIO_MAX = 500 /* code points */ };

static void put_profile_json(struct buffer *body, int64_t user, const struct profile *profile) {
    buffer_byte(body, '{');
    user_json_put_whole(body, user, profile);
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

static int want_url(const json_t *object, const char *member, struct event_text *url, struct error *error) {
    const char *text = "";
    if (json_want_text(object, member, &text, error) == -EINVAL) return -EINVAL;
    *url = (struct event_text){text, strlen(text)};
    if (url->size > URL_MAX_BYTES)
        return error_set(error, -EINVAL, "\"%s\" must have at most %d bytes", member, URL_MAX_BYTES);
    if (*text && strncmp(text, "https://", 8) != 0 && strncmp(text, "http://", 7) != 0)
        return error_set(error, -EINVAL, "\"%s\" must begin with https:// or http://", member);
    return 0;
}

static int want_bio(const json_t *object, struct event_text *bio, struct error *error) {
    const char *text = "";
    *bio = (struct event_text){text, 0};
    if (json_want_text(object, "bio", &text, error) == -EINVAL) return -EINVAL;
    return !*text || client_text_read(object, "bio", BIO_MAX, bio, error) ? 0 : -EINVAL;
}

static int parse_profile(const json_t *object, struct profile *profile, struct error *error) {
    const char *name;
    if (json_want_text(object, "name", &name, error)) return -EINVAL;
    profile->name = (struct event_text){name, strlen(name)};
    if (profile->name.size == 0 || profile->name.size > NAME_MAX_BYTES)
        return error_set(error, -EINVAL, "\"name\" must have 1 to %d bytes", NAME_MAX_BYTES);
    const char *fault = text_name_fault(name, profile->name.size);
    if (fault) return error_set(error, -EINVAL, "\"name\" %s", fault);
    if (want_bio(object, &profile->bio, error)) return -EINVAL;
    if (want_url(object, "avatar_url", &profile->avatar_url, error)) return -EINVAL;
    return want_url(object, "url", &profile->url, error);
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
        profile_encode(&record, &profile);
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
