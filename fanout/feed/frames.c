#include "fanout/feed/frames.h"

#include <inttypes.h>

#include "posts/post_json.h"
#include "ws/ws.h"

static void put_version(struct buffer *frame, const char *key, struct watch_version version) {
    char text[WATCH_VERSION_TEXT];
    watch_version_write(version, text);
    buffer_format(frame, ",\"%s\":\"%s\"", key, text);
}

struct frame_posts_told frame_posts(struct buffer *frame, const struct live_feed *live, struct texts *texts) {
    struct frame_posts_told told = {.posts = 0};
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"posts\"");
    put_version(frame, "since", live->since);
    put_version(frame, "version", live->version);
    buffer_string(frame, ",\"items\":[");
    for (size_t i = 0; i < live->post_count; i++) {
        if (told.posts && frame->size > FRAME_POSTS_BYTES) return (struct frame_posts_told){.too_long = true};
        const struct live_post *post = &live->posts[i];
        enum text_state state = text_state_of(post->text);
        if (state == TEXT_NONE) continue;
        if (told.posts++) buffer_byte(frame, ',');
        if (state == TEXT_THERE) {
            text_put(texts, post->text, frame);
        } else {
            post_put_unavailable(frame, post->id, post->author);
            told.unavailable++;
        }
    }
    buffer_string(frame, "],\"gone\":[");
    for (size_t i = 0; i < live->gone_count; i++)
        buffer_format(frame, "%s\"%" PRId64 "\"", i ? "," : "", live->gone[i]);
    buffer_string(frame, "]}");
    return told;
}

void frame_stale(struct buffer *frame, const struct live_feed *live) {
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"stale\",\"what\":\"feed\"");
    put_version(frame, "version", live->version);
    buffer_format(frame, ",\"after_ms\":%" PRId64 "}", live->after_ms);
}
