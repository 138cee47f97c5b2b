#include "cli/phone_frame.h"

#include "json/json.h"
#include "ws/ws.h"

static void put_place(struct buffer *frame, struct geo_point at, int64_t time) {
    json_member_place(frame, at.lat, at.lng);
    json_member_int(frame, ",\"time\":", time);
    buffer_byte(frame, '}');
}

void phone_frame_hello(struct buffer *frame, const char *token, const char *device, struct geo_point at, int64_t time) {
    ws_frame_start(frame);
    json_member_text(frame, "{\"type\":\"hello\",\"token\":", token);
    if (device) json_member_text(frame, ",\"device\":", device);
    put_place(frame, at, time);
}

void phone_frame_hello_alone(struct buffer *frame, const char *token) {
    ws_frame_start(frame);
    json_member_text(frame, "{\"type\":\"hello\",\"token\":", token);
    buffer_byte(frame, '}');
}

void phone_frame_watch_feed(struct buffer *frame, const char *version) {
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"watch\",\"what\":\"feed\"");
    if (*version) {
        json_member_text(frame, ",\"version\":", version);
    }
    buffer_byte(frame, '}');
}

void phone_frame_watch_notices(struct buffer *frame) {
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"watch\",\"what\":\"notices\"}");
}

void phone_frame_location(struct buffer *frame, struct geo_point at, int64_t time) {
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"location\"");
    put_place(frame, at, time);
}

void phone_frame_more(struct buffer *frame, const char *after) {
    ws_frame_start(frame);
    json_member_text(frame, "{\"type\":\"more\",\"after\":", after);
    buffer_byte(frame, '}');
}
