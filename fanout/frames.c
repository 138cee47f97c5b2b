#include "fanout/frames.h"

#include <string.h>

#include "json/json.h"
#include "ws/ws.h"

static void put_text(struct buffer *frame, const char *text) { json_put_text(frame, text, strlen(text)); }

static void put_member(struct buffer *frame, const char *key, int64_t value) {
    buffer_string(frame, key);
    json_put_int(frame, value);
}

void frame_welcome(struct buffer *frame, const struct welcome *welcome) {
    ws_frame_start(frame);
    put_member(frame, "{\"type\":\"welcome\",\"user\":", welcome->user);
    put_member(frame, ",\"server_time\":", welcome->server_time);
    buffer_format(frame, ",\"radius_m\":%.10g", welcome->radius_m);
    put_member(frame, ",\"report_every_s\":", welcome->report_every_s);
    put_member(frame, ",\"inactive_after_s\":", welcome->inactive_after_s);
    buffer_byte(frame, '}');
}

void frame_error(struct buffer *frame, const char *code, const char *message) {
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"error\",\"code\":");
    put_text(frame, code);
    buffer_string(frame, ",\"message\":");
    put_text(frame, message);
    buffer_byte(frame, '}');
}

void frame_reconnect(struct buffer *frame, int64_t after_ms) {
    ws_frame_start(frame);
    put_member(frame, "{\"type\":\"reconnect\",\"after_ms\":", after_ms);
    buffer_byte(frame, '}');
}
