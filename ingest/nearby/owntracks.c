/* The app OwnTracks in its HTTP mode: it posts messages, of which only places matter here, and is told who is near. It sends again what is
 * not taken, before anything newer, so whatever never can be is answered as if it were; also by whom the caller does not share with, so that
 * the app does not keep for later where the caller was meanwhile. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/config.h"
#include "base/text.h"
#include "event/types.h"
#include "ingest/limits.h"
#include "ingest/nearby/locations.h"
#include "ingest/nearby/parts.h"
#include "ingest/write.h"
#include "json/place.h"

enum {
    ANSWER_MS = 3000,
    FRIENDS_MAX = 100,
    MS_A_SECOND = 1000,
    TRACKER_ID_CHARACTERS = 2, /* that the app shows on the map */
    CELL_ACCURACY_M = 1000,    /* of a rounded place */
    BATTERY_UNPLUGGED = 1,     /* of `bs`; 0 is unknown */
    BATTERY_CHARGING = 2,
    BATTERY_FULL = 3,
    BATTERY_UNIT = 10, /* of the details, how many make the app's 1 (SPEED_UNIT: 1 m/s) */
    SPEED_UNIT = 1000,
    COURSE_UNIT = 100,
    HEIGHT_UNIT = 100,
    SPEED_MAX_KMH = 36000,
    VERTICAL_MAX_M = 100000,
    VALUES_MAX = 1024 /* of a message; those with Wi-Fi or waypoints have hundreds */
};

static const double KMH_A_MPS = 3.6;

static void reply_nobody(struct http_request *request) { http_reply_format(request, 200, "[]"); }

/* ---- the answer ---- */

static void put_tracker(struct buffer *body, const char *type, const struct near_friend *near,
                        const struct event_text *name) {
    size_t size = 0;
    json_member_text(body, "{\"_type\":", type);
    buffer_string(body, ",\"topic\":\"owntracks/");
    text_int(body, near->user);
    buffer_string(body, "/starling\",\"tid\":");
    for (int i = 0; i < TRACKER_ID_CHARACTERS; i++) size += text_utf8_length(name->data + size, name->size - size);
    json_put_text(body, name->data, size);
}

static void put_scaled(struct buffer *body, const char *key, int32_t value, double unit) {
    if (value >= 0) json_member_int(body, key, lround(value / unit));
}

/* The app is not told what it has no word for, and whole numbers where it has no others. */
static void put_details(struct buffer *body, const struct near_friend *near) {
    const struct report_details *details = &near->details;
    if (near->accuracy >= 0) json_member_int(body, ",\"acc\":", near->accuracy);
    put_scaled(body, ",\"batt\":", details->battery, BATTERY_UNIT);
    if (details->charging >= 0)
        json_member_int(body, ",\"bs\":", details->charging ? BATTERY_CHARGING : BATTERY_UNPLUGGED);
    put_scaled(body, ",\"vel\":", details->speed, SPEED_UNIT / KMH_A_MPS);
    put_scaled(body, ",\"cog\":", details->course, COURSE_UNIT);
    put_scaled(body, ",\"vac\":", details->vertical_accuracy, HEIGHT_UNIT);
}

/* The place, and a card with the name. */
static void put_friend(struct buffer *body, const struct near_friend *near, struct profiles *profiles) {
    struct profile profile = {.name = {"", 0}};
    struct buffer number = {0};
    text_int(&number, near->user);
    if (!profiles_find(profiles, near->user, &profile) || !profile.name.size)
        profile.name = (struct event_text){.data = buffer_cstring(&number), .size = number.size};
    put_tracker(body, "location", near, &profile.name);
    buffer_string(body, ",\"lat\":");
    json_put_degrees(body, near->lat);
    buffer_string(body, ",\"lon\":");
    json_put_degrees(body, near->lng);
    json_member_int(body, ",\"tst\":", near->time / MS_A_SECOND);
    if (near->rounded) json_member_int(body, ",\"acc\":", CELL_ACCURACY_M);
    put_details(body, near);
    buffer_string(body, "},");
    put_tracker(body, "card", near, &profile.name);
    buffer_string(body, ",\"name\":");
    json_put_text(body, profile.name.data, profile.name.size);
    buffer_byte(body, '}');
    buffer_free(&number);
}

static bool put_page(const struct nearby_gateway *nearby, int64_t user, struct buffer *body, const json_t *page) {
    return near_put_friends(nearby, user, body, page, put_friend);
}

/* The report is written: a router that does not answer is no reason to send it again. */
static bool refuse(const struct nearby_gateway *nearby, int64_t user, struct http_request *request, unsigned status) {
    if (status == 200) return false;
    reply_nobody(request);
    return true;
}

/* ---- the message ---- */

static void reported(void *context, const struct call *call, int code) {
    if (code == 0)
        nearby_ask(context, call, ANSWER_MS, put_page, refuse, &ASK_NEARBY,
                   RPC_VALUES(RPC_INT(USER, call->claims.user), RPC_INT(LIMIT, FRIENDS_MAX)));
    else if (code > 0 || code == -EINVAL)
        reply_nobody(call->request);
    else
        write_problem(call->request, code);
}

/* Details that do not fit are left out: a place is never lost for them. */
static void read_details(const json_t *message, struct report_details *details) {
    double number;
    int64_t state;
    *details = (struct report_details){DETAILS_NONE};
    if (!json_want_real(message, "batt", 0, 100, &number, NULL))
        details->battery = (int32_t)lround(number * BATTERY_UNIT);
    if (!json_want_int(message, "bs", BATTERY_UNPLUGGED, BATTERY_FULL, &state, NULL))
        details->charging = state != BATTERY_UNPLUGGED;
    if (!json_want_real(message, "vel", 0, SPEED_MAX_KMH, &number, NULL))
        details->speed = (int32_t)lround(number * SPEED_UNIT / KMH_A_MPS);
    if (!json_want_real(message, "cog", 0, 360, &number, NULL)) details->course = (int32_t)lround(number * COURSE_UNIT);
    if (!json_want_real(message, "vac", 0, VERTICAL_MAX_M, &number, NULL))
        details->vertical_accuracy = (int32_t)lround(number * HEIGHT_UNIT);
}

static bool read_place(const json_t *message, struct json_place *place) {
    const char *type;
    double accuracy = -1;
    if (json_want_text(message, "_type", &type, NULL) || strcmp(type, "location") != 0 ||
        json_want_degrees(message, "lat", 90, &place->lat, NULL) ||
        json_want_degrees(message, "lon", 180, &place->lng, NULL) ||
        json_want_int(message, "tst", 0, EVENT_TIME_MAX / MS_A_SECOND, &place->time, NULL) ||
        json_want_real(message, "acc", 0, PLACE_ACCURACY_MAX, &accuracy, NULL) == -EINVAL)
        return false;
    read_details(message, &place->details);
    place->time *= MS_A_SECOND;
    place->accuracy = (int32_t)accuracy;
    return true;
}

static void post_owntracks(void *state, const struct call *call) {
    struct nearby_gateway *nearby = state;
    struct json_place place;
    size_t size;
    http_body(call->request, &size);
    json_t *message = size ? call_body_within(call, VALUES_MAX) : NULL;
    if (size && !message) return;
    http_add_work(call->request, FRIENDS_MAX / LIMITS_ROWS);
    if (message && read_place(message, &place))
        locations_report(nearby->locations, call, &place, nearby, reported);
    else
        reply_nobody(call->request);
    json_decref(message);
}

static const struct endpoint ENDPOINTS[] = {
    {"POST", "/v1/owntracks", post_owntracks, NEEDS_PASSWORD},
};
const struct endpoint_list OWNTRACKS_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
