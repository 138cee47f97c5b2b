/* The frames that a phone sends, as docs/PROTOCOL.md has them. */
#include "cli/phone_frame.h"
#include "unit/kit/kit.h"
#include "ws/ws.h"

static const struct geo_point AT = {.lat = 399847021, .lng = -1163184000};

/* Behind the headroom, whatever the buffer held before. */
static void expect_frame(struct buffer *frame, const char *wanted) {
    assert_true(frame->size >= WS_HEADROOM);
    assert_string_equal(buffer_cstring(frame) + WS_HEADROOM, wanted);
}

TEST(each_frame_is_as_the_protocol_says) {
    FREED_BUFFER frame = {.size = 0};
    buffer_string(&frame, "what was here before");
    phone_frame_hello(&frame, "a \"token\"", NULL, AT, 1769860800123);
    expect_frame(&frame, "{\"type\":\"hello\",\"token\":\"a \\\"token\\\"\",\"lat\":39.9847021,\"lng\":-116.3184,"
                         "\"time\":1769860800123}");
    phone_frame_hello(&frame, "t", "a \"name\"", AT, 7);
    expect_frame(&frame, "{\"type\":\"hello\",\"token\":\"t\",\"device\":\"a \\\"name\\\"\",\"lat\":39.9847021,"
                         "\"lng\":-116.3184,\"time\":7}");
    phone_frame_hello_alone(&frame, "t");
    expect_frame(&frame, "{\"type\":\"hello\",\"token\":\"t\"}");
    phone_frame_location(&frame, AT, 7);
    expect_frame(&frame, "{\"type\":\"location\",\"lat\":39.9847021,\"lng\":-116.3184,\"time\":7}");
    phone_frame_more(&frame, "120.5-9");
    expect_frame(&frame, "{\"type\":\"more\",\"after\":\"120.5-9\"}");
}

TEST(a_watch_names_the_version_of_the_page_that_was_read) {
    FREED_BUFFER frame = {.size = 0};
    phone_frame_watch_feed(&frame, "3-17");
    expect_frame(&frame, "{\"type\":\"watch\",\"what\":\"feed\",\"version\":\"3-17\"}");
    phone_frame_watch_feed(&frame, "");
    expect_frame(&frame, "{\"type\":\"watch\",\"what\":\"feed\"}");
}
