#include "ingest/products.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "event/topics.h"
#include "ingest/owners.h"
#include "ingest/places/parts.h"
#include "ingest/places/place_body.h"
#include "ingest/write.h"

enum {
    ANSWER_MS = 3000,
    RETRY_AFTER_S = 2,
    LIMIT_DEFAULT = 20,
    LIMIT_MAX = 1000,
    BODY_VALUES = 4 * PLACE_TOLD_MAX /* and members, of a body that names as many users as may be */
};

struct places_gateway {
    struct peers *owners;
    struct command_sender sender;
};

#define AT(member) offsetof(struct places_gateway_settings, member)

static const struct config_property PROPERTIES[] = {
    {"places.group.id", CONFIG_STRING, AT(group), "starling-places",
     .doc = "Consumer group of the places processes, which decide who arrives where."},
};

static struct places_gateway_settings configured;

const struct config_section PLACES_GATEWAY_SECTION = {"Gateway: places (starling-ingest)", PROPERTIES,
                                                      ARRAY_SIZE(PROPERTIES), &configured};

/* ---- wishes ---- */

/* A wish about one place, until it is decided. */
struct place_wish {
    struct places_gateway *places;
    struct http_request *request;
    int64_t user;
    char id[PLACE_ID_MAX + 1];
    bool had; /* it was there when it was to be deleted */
};

static struct place_wish *wish_new(struct places_gateway *places, const struct call *call) {
    struct place_wish *wish =
        MEM_NEW(&(struct place_wish){.places = places, .request = call->request, .user = call->claims.user});
    memcpy(wish->id, call->values[0].text, call->values[0].size);
    return wish;
}

static void reply_pending(const struct place_wish *wish, struct http_request *request) {
    http_reply_format(request, 202, "{\"id\":\"%s\"}", wish->id);
}

static void reply_none(struct http_request *request) {
    http_problem(request, 404, "no_place", "the caller has no such place", 0);
}

static void reply_place(struct http_request *request, const struct json_bytes *place) {
    static const struct http_field FIELDS[] = {{"Cache-Control", "no-store"}};
    http_reply(request, 200, "application/json", place->data, place->size, FIELDS, ARRAY_SIZE(FIELDS));
}

/* What the owner says of one place. */
struct place_said {
    struct json_bytes place; /* size 0: there is none */
    int64_t count;           /* of the user's places */
};

/* False: the owner is of another version. */
static bool read_said(const char *text, size_t size, struct place_said *said) {
    struct json_scan scan = json_scan_of(text, size);
    struct json_bytes key, count = {NULL, 0};
    *said = (struct place_said){.place = {NULL, 0}};
    json_scan_object(&scan);
    while (json_scan_member(&scan, &key))
        json_scan_value(&scan, json_bytes_are(&key, "place")   ? &said->place
                               : json_bytes_are(&key, "count") ? &count
                                                               : NULL);
    if (scan.bad || !said->place.size || !text_number(count.data, count.size, INT64_MAX, &said->count)) return false;
    if (json_bytes_are(&said->place, "null")) said->place.size = 0;
    return true;
}

/* `wish` is freed after the answer. */
static void send_wish(struct place_wish *wish, struct place_command *command,
                      void (*answer)(void *context, struct http_request *request, unsigned status, const json_t *reply,
                                     struct json_bytes text)) {
    struct buffer record = {.data = NULL};
    command->user = wish->user;
    command->id = (struct event_text){wish->id, strlen(wish->id)};
    event_encode_place_command(&record, command);
    command_send(&wish->places->sender,
                 &(struct command_write){
                     .request = wish->request,
                     .topic = &TOPIC_PLACE_COMMANDS,
                     .user = wish->user,
                     .record = &record,
                     .question = rpc_path(&ASK_PLACE, RPC_VALUES(RPC_INT(USER, wish->user), RPC_TEXT(PLACE, wish->id))),
                     .answer = answer,
                     .context = wish,
                 });
    buffer_free(&record);
}

/* One that is not there although there is room was deleted meanwhile: whoever still wants it asks again. */
static void placed(void *context, struct http_request *request, unsigned status, const json_t *reply,
                   struct json_bytes text) {
    struct place_said said;
    bool known = status == 200 && read_said(text.data, text.size, &said);
    if (known && said.place.size)
        reply_place(request, &said.place);
    else if (known && said.count >= PLACES_MAX)
        http_problem(request, 409, "places_limit", "the user has as many places as anybody may", 0);
    else
        reply_pending(context, request);
}

static void put_place(void *state, const struct call *call) {
    struct place_command command = {.kind = PLACE_COMMAND_PUT};
    int64_t users[PLACE_TOLD_MAX];
    struct error error;
    json_t *object = call_body_within(call, BODY_VALUES);
    if (!object) return;
    if (place_body_read(object, &command, users, &error))
        http_problem(call->request, 400, "bad_place", error.text, 0);
    else
        send_wish(wish_new(state, call), &command, placed);
    json_decref(object);
}

static void deleted(void *context, struct http_request *request, unsigned status, const json_t *reply,
                    struct json_bytes text) {
    const struct place_wish *wish = context;
    if (status != 200)
        reply_pending(wish, request);
    else if (wish->had)
        http_reply(request, 204, NULL, NULL, 0, NULL, 0); // one that is there was put again meanwhile
    else
        reply_none(request);
}

/* False: the request is answered. */
static bool heard(struct http_request *request, int code, unsigned status, const char *reply, size_t size,
                  struct place_said *said) {
    if (!owners_answered(request, code, status)) return false;
    if (read_said(reply, size, said)) return true;
    owners_away(request, RETRY_AFTER_S);
    return false;
}

/* The command is written whatever there is: one that makes the place may still be on its way. */
static void looked_up(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct place_wish *wish = context;
    struct place_command command = {.kind = PLACE_COMMAND_DELETE, .name = {"", 0}};
    struct place_said said;
    if (!heard(wish->request, code, status, reply, size, &said)) {
        free(wish);
        return;
    }
    wish->had = said.place.size > 0;
    send_wish(wish, &command, deleted);
}

static void delete_place(void *state, const struct call *call) {
    struct places_gateway *places = state;
    struct place_wish *wish = wish_new(places, call);
    rpc_ask(places->owners, &ASK_PLACE, RPC_VALUES(RPC_INT(USER, wish->user), RPC_TEXT(PLACE, wish->id)), ANSWER_MS,
            looked_up, wish);
}

/* ---- what there is ---- */

static void found(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct http_request *request = context;
    struct place_said said;
    if (!heard(request, code, status, reply, size, &said)) return;
    if (said.place.size)
        reply_place(request, &said.place);
    else
        reply_none(request);
}

static void get_place(void *state, const struct call *call) {
    struct places_gateway *places = state;
    char *id = mem_stringn(call->values[0].text, call->values[0].size);
    rpc_ask(places->owners, &ASK_PLACE, RPC_VALUES(RPC_INT(USER, call->claims.user), RPC_TEXT(PLACE, id)), ANSWER_MS,
            found, call->request);
    free(id);
}

static void get_places(void *state, const struct call *call) {
    struct places_gateway *places = state;
    const char *after = http_query(call->request, "after");
    int64_t limit = LIMIT_DEFAULT;
    if (!call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    if (after && !place_id_is(after, strlen(after))) {
        http_problem(call->request, 400, "bad_query", "\"after\" must be the `next` of a page before", 0);
        return;
    }
    owners_pass_on(places->owners, &ASK_PLACES,
                   RPC_VALUES(RPC_INT(USER, call->claims.user), RPC_INT(LIMIT, limit), RPC_TEXT(AFTER, after)),
                   ANSWER_MS, call->request);
}

static void get_events(void *state, const struct call *call) {
    struct places_gateway *places = state;
    int64_t from = 0, to = INT64_MAX, after = -1, limit = LIMIT_DEFAULT;
    if (!call_query_times(call, &from, &to) || !call_query_int(call, "after", &after) ||
        !call_query_range(call, "limit", 1, LIMIT_MAX, &limit))
        return;
    owners_pass_on(places->owners, &ASK_PLACE_EVENTS,
                   RPC_VALUES(RPC_INT(USER, call->claims.user), RPC_INT(FROM, from), RPC_INT(TO, to),
                              RPC_INT(LIMIT, limit), RPC_INT(AFTER, after)),
                   ANSWER_MS, call->request);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/places", get_places, NEEDS_USER},
    {"GET", "/v1/places/events", get_events, NEEDS_USER},
    {"GET", "/v1/places/{id:key}", get_place, NEEDS_USER},
    {"PUT", "/v1/places/{id:key}", put_place, NEEDS_USER},
    {"DELETE", "/v1/places/{id:key}", delete_place, NEEDS_USER},
};
static const struct endpoint_list PLACES_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};

/* ---- the product ---- */

static void places_stop(void *state) {
    struct places_gateway *places = state;
    if (!places) return;
    peers_free(places->owners);
    places->owners = NULL;
}

static int places_start(const struct product_options *options, void **state, struct error *error) {
    struct places_gateway *places = MEM_NEW(&(struct places_gateway){
        .sender = {.writer = options->writer,
                   .wait_ms = options->outcome_wait_ms,
                   .written = metrics_counter(service_metrics(options->service), "starling_ingest_place_commands_total",
                                              "Commands about places that Kafka acknowledged.", NULL)},
    });
    int code = owners_new(options, options->groups.places, &TOPIC_PLACE_COMMANDS, &places->owners, error);
    if (code) {
        free(places);
        return code;
    }
    places->sender.owners = places->owners;
    endpoints_add(options->endpoints, &PLACES_ENDPOINTS, places, NULL, NULL);
    *state = places;
    return 0;
}

static void cannot_serve(void *state, service_namer *name, void *context) {
    const struct places_gateway *places = state;
    if (!peers_complete(places->owners)) name(context, "places");
}

const struct product PLACES_PRODUCT = {
    .start = places_start, .stop = places_stop, .free = free, .cannot_serve = cannot_serve};
