#include "cli/phone_frame.h"

#include <string.h>

#include "json/json.h"
#include "ws/ws.h"

static void put_place(struct buffer *frame, struct geo_point at, int64_t time) {
    buffer_string(frame, ",\"lat\":");
    json_put_degrees(frame, at.lat);
    buffer_string(frame, ",\"lng\":");
    json_put_degrees(frame, at.lng);
    buffer_string(frame, ",\"time\":");
    json_put_int(frame, time);
    buffer_byte(frame, '}');
}

void phone_frame_hello(struct buffer *frame, const char *token, struct geo_point at, int64_t time) {
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"hello\",\"token\":");
    json_put_text(frame, token, strlen(token));
    put_place(frame, at, time);
}

void phone_frame_hello_alone(struct buffer *frame, const char *token) {
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"hello\",\"token\":");
    json_put_text(frame, token, strlen(token));
    buffer_byte(frame, '}');
}

void phone_frame_watch_feed(struct buffer *frame, const char *version) {
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"watch\",\"what\":\"feed\"");
    if (*version) {
        buffer_string(frame, ",\"version\":");
        json_put_text(frame, version, strlen(version));
    }
    buffer_byte(frame, '}');
}

void phone_frame_location(struct buffer *frame, struct geo_point at, int64_t time) {
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"location\"");
    put_place(frame, at, time);
}

void phone_frame_more(struct buffer *frame, const char *after) {
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"more\",\"after\":");
    json_put_text(frame, after, strlen(after));
    buffer_byte(frame, '}');
}
