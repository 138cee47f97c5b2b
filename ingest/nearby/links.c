#include "ingest/nearby/links.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "event/codec.h"
#include "event/topics.h"
#include "service/seal.h"

enum {
    ANSWER_MS = 3000,
    RETRY_AFTER_S = 2,
    LIMIT_DEFAULT = 20,
    LIMIT_MAX = 1000,
    LINKS_MAX = 20,    /* of a user, as routers have it */
    SECRET_BYTES = 17, /* version, user, id; with what a seal adds it fills base64 wholly */
    SECRET_VERSION = 1,
    SECRET_SIZE = (SECRET_BYTES + 28) / 3 * 4
};

static const int64_t LONGEST_MS = INT64_C(31) * 24 * 3600 * 1000;
struct link_gateway {
    struct nearby_gateway *nearby;
    struct seal seal;
    struct chance chance;
    struct command_sender sender;
};

int link_gateway_new(struct nearby_gateway *nearby, struct link_gateway **out, struct error *error) {
    struct service *service = nearby->core.service;
    struct link_gateway *links = MEM_NEW(&(struct link_gateway){
        .nearby = nearby,
        .chance = chance_new(),
        .sender = {.writer = nearby->core.writer,
                   .owners = nearby->routers,
                   .wait_ms = nearby->core.outcome_wait_ms,
                   .written = metrics_counter(service_metrics(service), "starling_ingest_link_commands_total",
                                              "Commands about links that Kafka acknowledged.", NULL)},
    });
    if (!seal_of(service_settings(service)->peer_token, "links", &links->seal)) {
        free(links);
        return error_set(error, -EIO, "no key can be made of peer.token");
    }
    *out = links;
    return 0;
}

void link_gateway_free(struct link_gateway *links) { free(links); }

/* ---- secrets ---- */

static bool put_secret(const struct link_gateway *links, int64_t user, int64_t id, struct buffer *out) {
    uint8_t open[SECRET_BYTES] = {SECRET_VERSION};
    bytes_put_be64(open + 1, (uint64_t)user);
    bytes_put_be64(open + 9, (uint64_t)id);
    return seal_close(&links->seal, 0, (const char *)open, sizeof open, out);
}

static bool read_secret(const struct link_gateway *links, const struct path_value *text, int64_t *user, int64_t *id) {
    struct buffer open = {.data = NULL};
    bool good = text->size == SECRET_SIZE && seal_open(&links->seal, 0, text->text, text->size, &open) &&
                open.size == SECRET_BYTES && open.data[0] == SECRET_VERSION;
    if (good) {
        *user = (int64_t)bytes_get_be64(open.data + 1);
        *id = (int64_t)bytes_get_be64(open.data + 9);
    }
    buffer_free(&open);
    return good;
}

/* ---- making one ---- */

struct new_link {
    struct link_gateway *links;
    int64_t user, id, until;
};

static void reply_made(const struct new_link *made, struct http_request *request, unsigned status) {
    struct buffer body = {.data = NULL};
    json_member_id(&body, "{\"id\":", made->id);
    buffer_string(&body, ",\"url\":\"/link.html#");
    if (put_secret(made->links, made->user, made->id, &body)) {
        buffer_string(&body, "\"}");
        http_reply_json(request, status, &body);
    } else {
        http_problem(request, 500, "write_refused", "the link could not be sealed", 0);
    }
    buffer_free(&body);
}

/* The owner has refused it. The user may have opted out meanwhile. */
static void refuse(const struct new_link *made, struct http_request *request, const json_t *reply) {
    if (json_array_size(json_object_get(reply, "items")) >= LINKS_MAX)
        http_problem(request, 409, "links_limit", "the user has as many links as anybody may", 0);
    else
        http_problem(request, 409, "not_sharing", "a link shows a place only while its user shares it", 0);
}

static void made(void *context, struct http_request *request, unsigned status, const json_t *reply,
                 struct json_bytes text) {
    const struct new_link *made = context;
    if (status == 200 && !json_is_true(json_object_get(reply, "has")))
        refuse(made, request, reply);
    else
        reply_made(made, request, status == 200 ? 201 : 202);
}

static void send_command(struct link_gateway *links, struct http_request *request, const struct link_command *command,
                         void (*answer)(void *context, struct http_request *request, unsigned status,
                                        const json_t *reply, struct json_bytes text),
                         void *context) {
    struct buffer record = {.data = NULL};
    event_encode_link_command(&record, command);
    command_send(&links->sender, &(struct command_write){
                                     .request = request,
                                     .topic = &TOPIC_LINK_COMMANDS,
                                     .user = command->user,
                                     .record = &record,
                                     .question = rpc_path(&ASK_LINKS, RPC_VALUES(RPC_INT(USER, command->user),
                                                                                 RPC_INT(LINK, command->id),
                                                                                 RPC_INT(LIMIT, LINKS_MAX))),
                                     .answer = answer,
                                     .context = context,
                                 });
    buffer_free(&record);
}

/* now: ms; 0: whatever the time is, it is not ours to judge. */
static int read_until(const json_t *object, int64_t now, struct link_command *command, struct error *error) {
    if (json_want_int(object, "until", 1, EVENT_TIME_MAX, &command->until, error)) return -EINVAL;
    if (now && command->until <= now) return error_set(error, -EINVAL, "\"until\" must be after now");
    if (now && command->until > now + LONGEST_MS)
        return error_set(error, -EINVAL, "\"until\" must be within 31 days from now");
    return 0;
}

/* False: the wish is refused. */
static bool read_wish(const struct call *call, const json_t *object, int64_t now, struct link_command *command) {
    struct error error;
    if (read_until(object, now, command, &error)) {
        http_problem(call->request, 400, "bad_until", error.text, 0);
        return false;
    }
    if (!json_given(object, "rounded") || !json_want_bool(object, "rounded", &command->rounded, &error)) return true;
    http_problem(call->request, 400, "bad_rounded", error.text, 0);
    return false;
}

static void post_link(void *state, const struct call *call) {
    struct link_gateway *links = state;
    const struct nearby_gateway *nearby = links->nearby;
    struct link_command command = {
        .kind = LINK_COMMAND_MAKE, .user = call->claims.user, .id = chance_id(&links->chance), .opted = -1};
    json_t *object = call_body(call);
    bool good = object && read_wish(call, object, nearby->wall_clock ? clock_wall_ms() : 0, &command);
    json_decref(object);
    if (!good) return;
    bool shares = sharing_modes_find(user_copies_modes(nearby->copies), command.user, &command.opted) != SHARING_OFF;
    struct new_link *wish =
        MEM_NEW(&(struct new_link){.links = links, .user = command.user, .id = command.id, .until = command.until});
    if (shares) {
        send_command(links, call->request, &command, made, wish);
    } else {
        refuse(wish, call->request, NULL);
        free(wish);
    }
}

/* ---- those that are there ---- */

static bool put_page(const struct nearby_gateway *nearby, int64_t user, struct buffer *body, const json_t *page) {
    const json_t *items = json_object_get(page, "items");
    if (!json_is_array(items)) return false;
    buffer_string(body, "{\"items\":");
    json_put_value(body, items);
    bool good = json_copy_int_or_null(body, page, "next");
    buffer_byte(body, '}');
    return good;
}

static void get_links(void *state, const struct call *call) {
    struct link_gateway *links = state;
    int64_t after = -1, limit = LIMIT_DEFAULT;
    if (!call_query_int(call, "after", &after) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    nearby_ask(links->nearby, call, ANSWER_MS, put_page, NULL, &ASK_LINKS,
               RPC_VALUES(RPC_INT(USER, call->claims.user), RPC_INT(LIMIT, limit), RPC_INT(AFTER, after)));
}

/* ---- ending one ---- */

struct link_end {
    struct link_gateway *links;
    struct http_request *request;
    int64_t user, id;
    bool had;
};

static void ended(void *context, struct http_request *request, unsigned status, const json_t *reply,
                  struct json_bytes text) {
    const struct link_end *end = context;
    if (status == 200 && !end->had)
        http_problem(request, 404, "no_link", "there is no such link", 0);
    else if (status == 200)
        http_reply(request, 204, NULL, NULL, 0, NULL, 0);
    else
        http_reply_format(request, 202, "{\"id\":\"%" PRId64 "\"}", end->id);
}

/* The command is written whatever there is: one that makes the link may still be on its way. */
static void looked_up(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct link_end *end = context;
    if (!owners_answered(end->request, code, status)) {
        free(end);
        return;
    }
    json_t *page = json_parse(reply, size, NULL);
    end->had = json_is_true(json_object_get(page, "has"));
    json_decref(page);
    send_command(end->links, end->request,
                 &(struct link_command){.kind = LINK_COMMAND_END, .user = end->user, .id = end->id, .opted = -1}, ended,
                 end);
}

static void delete_link(void *state, const struct call *call) {
    struct link_gateway *links = state;
    struct link_end *end = MEM_NEW(&(struct link_end){
        .links = links, .request = call->request, .user = call->claims.user, .id = call->values[0].id});
    rpc_ask(links->nearby->routers, &ASK_LINKS,
            RPC_VALUES(RPC_INT(USER, end->user), RPC_INT(LINK, end->id), RPC_INT(LIMIT, LINKS_MAX)), ANSWER_MS,
            looked_up, end);
}

/* ---- what one shows ---- */

struct link_look {
    const struct nearby_gateway *nearby;
    struct http_request *request;
    int64_t user;
};

static void reply_over(struct http_request *request) {
    http_problem(request, 410, "link_over", "this link has ended", 0);
}

/* A copy of sharing that is behind the link does not count; one that is not may be ahead of the owner's. */
static bool opted_out(const struct link_look *look, int64_t opted) {
    int64_t offset;
    return sharing_modes_find(user_copies_modes(look->nearby->copies), look->user, &offset) == SHARING_OFF &&
           offset >= opted;
}

static void reply_place(const struct link_look *look, const json_t *said) {
    struct profile profile = {.name = {"", 0}};
    int32_t lat = 0, lng = 0;
    int64_t time = 0, until, opted;
    bool known = json_given(said, "time");
    bool good = !json_want_int(said, "until", 1, EVENT_TIME_MAX, &until, NULL) &&
                !json_want_int(said, "opted", 0, INT64_MAX, &opted, NULL);
    if (good && known)
        good =
            !json_want_lat_lng(said, &lat, &lng, NULL) && !json_want_int(said, "time", 0, EVENT_TIME_MAX, &time, NULL);
    if (!good) {
        owners_away(look->request, RETRY_AFTER_S);
        return;
    }
    if (opted_out(look, opted)) {
        reply_over(look->request);
        return;
    }
    struct buffer body = {.data = NULL};
    profiles_find(user_copies_profiles(look->nearby->copies), look->user, &profile);
    buffer_string(&body, "{\"name\":");
    json_put_text(&body, profile.name.data, profile.name.size);
    if (known)
        json_member_place(&body, lat, lng);
    else
        buffer_string(&body, ",\"lat\":null,\"lng\":null");
    if (known)
        json_member_int(&body, ",\"time\":", time);
    else
        buffer_string(&body, ",\"time\":null");
    json_member_int(&body, ",\"until\":", until);
    buffer_byte(&body, '}');
    http_reply_json_free(look->request, 200, &body);
}

static void seen(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct link_look *look = context;
    if (code == 0 && status == 404) {
        reply_over(look->request);
    } else if (owners_answered(look->request, code, status)) {
        json_t *said = json_parse(reply, size, NULL);
        reply_place(look, said);
        json_decref(said);
    }
    free(look);
}

static void get_place(void *state, const struct call *call) {
    struct link_gateway *links = state;
    int64_t user, id;
    if (!read_secret(links, &call->values[0], &user, &id)) {
        http_problem(call->request, 404, "no_link", "there is no such link", 0);
        return;
    }
    struct link_look *look =
        MEM_NEW(&(struct link_look){.nearby = links->nearby, .request = call->request, .user = user});
    rpc_ask(links->nearby->routers, &ASK_LINK, RPC_VALUES(RPC_INT(USER, user), RPC_INT(LINK, id)), ANSWER_MS, seen,
            look);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/links", get_links, NEEDS_USER},
    {"POST", "/v1/links", post_link, NEEDS_USER},
    {"DELETE", "/v1/links/{id:id}", delete_link, NEEDS_USER},
    {"GET", "/v1/links/{secret:text}/place", get_place, NEEDS_NOTHING},
};
const struct endpoint_list LINKS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
