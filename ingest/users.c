/* Profiles: read from the local copy, written to their topic. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/topics.h"
#include "ingest/gateway.h"

enum { NAME_MAX_BYTES = 200, URL_MAX_BYTES = 1000 };

static void put_profile_json(struct buffer *body, int64_t user, const struct profile *profile) {
    buffer_string(body, "{\"user\":");
    json_put_int(body, user);
    buffer_string(body, ",\"name\":");
    json_put_text(body, profile->name.data, profile->name.size);
    buffer_string(body, ",\"avatar_url\":");
    json_put_text(body, profile->avatar_url.data, profile->avatar_url.size);
    buffer_byte(body, '}');
}

static void reply_profile(const struct call *call, int64_t user) {
    struct profile profile;
    if (!copies_profile(call->gateway->copies, user, &profile)) {
        http_problem(call->request, 404, "no_profile", "the user has no profile", 0);
        return;
    }
    struct buffer body = {0};
    put_profile_json(&body, user, &profile);
    http_reply_json(call->request, 200, &body);
    buffer_free(&body);
}

void get_profile(const struct call *call) {
    int64_t user = call_user(call);
    if (user >= 0) reply_profile(call, user);
}

void get_profile_of(const struct call *call) { reply_profile(call, call->parameter); }

/* The answer was made when the request was; it is sent when Kafka has the record. */
static void written(struct gateway *gateway, struct http_request *request, void *context, int code, int32_t partition,
                    int64_t offset) {
    struct buffer *body = context;
    (void)gateway;
    (void)partition;
    (void)offset;
    if (code)
        write_problem(request, code);
    else
        http_reply_json(request, 200, body);
    buffer_free(body);
    free(body);
}

static void write_one(const struct call *call, const struct topic *topic, int64_t user, struct buffer *body) {
    struct write *write = write_new(call->gateway, call->request, body, written);
    write_send(write, topic, user);
    write_end(write);
}

static int parse_profile(const json_t *object, struct profile *profile, struct error *error) {
    const char *name, *url = "";
    if (json_want_text(object, "name", &name, error)) return -EINVAL;
    if (json_want_text(object, "avatar_url", &url, error) == -EINVAL) return -EINVAL;
    *profile = (struct profile){.name = {name, strlen(name)}, .avatar_url = {url, strlen(url)}};
    if (profile->name.size == 0 || profile->name.size > NAME_MAX_BYTES)
        return error_set(error, -EINVAL, "\"name\" must have 1 to %d bytes", NAME_MAX_BYTES);
    if (profile->avatar_url.size > URL_MAX_BYTES)
        return error_set(error, -EINVAL, "\"avatar_url\" must have at most %d bytes", URL_MAX_BYTES);
    if (*url && strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0)
        return error_set(error, -EINVAL, "\"avatar_url\" must begin with https:// or http://");
    return 0;
}

void put_profile(const struct call *call) {
    int64_t user = call_user(call);
    if (user < 0) return;
    json_t *object = call_body(call);
    if (!object) return;
    struct profile profile;
    struct error error;
    if (parse_profile(object, &profile, &error)) {
        http_problem(call->request, 400, "bad_profile", error.text, 0);
    } else {
        struct buffer *body = mem_zero(1, sizeof *body);
        put_profile_json(body, user, &profile);
        buffer_clear(&call->gateway->record);
        event_encode_profile(&call->gateway->record, &profile);
        write_one(call, &TOPIC_PROFILES, user, body);
    }
    json_decref(object);
}
