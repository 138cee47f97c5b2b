#include "fanout/frames.h"

#include "json/json.h"
#include "ws/ws.h"

void frame_welcome(struct buffer *frame, const struct welcome *welcome) {
    ws_frame_start(frame);
    json_member_int(frame, "{\"type\":\"welcome\",\"user\":", welcome->user);
    json_member_int(frame, ",\"session\":\"", welcome->session);
    json_member_int(frame, "\",\"server_time\":", welcome->server_time);
    buffer_format(frame, ",\"radius_m\":%.10g", welcome->radius_m);
    json_member_int(frame, ",\"report_every_s\":", welcome->report_every_s);
    json_member_int(frame, ",\"inactive_after_s\":", welcome->inactive_after_s);
    buffer_byte(frame, '}');
}

void frame_error(struct buffer *frame, const char *code, const char *message) {
    ws_frame_start(frame);
    json_member_text(frame, "{\"type\":\"error\",\"code\":", code);
    json_member_text(frame, ",\"message\":", message);
    buffer_byte(frame, '}');
}

void frame_reconnect(struct buffer *frame, int64_t after_ms) {
    ws_frame_start(frame);
    json_member_int(frame, "{\"type\":\"reconnect\",\"after_ms\":", after_ms);
    buffer_byte(frame, '}');
}
