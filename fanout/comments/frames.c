#include "fanout/comments/frames.h"

#include <inttypes.h>

#include "ws/ws.h"

static void put_items(struct buffer *frame, const struct live_thread *thread) {
    buffer_string(frame, ",\"items\":[");
    for (size_t i = 0; i < thread->item_count; i++) {
        const struct thread_item *item = live_comment_item(&thread->items[i]);
        if (i) buffer_byte(frame, ',');
        buffer_append(frame, thread->items[i].told->json.data + item->at, item->size);
    }
    buffer_string(frame, "],\"gone\":[");
    bool any = false;
    for (size_t i = 0; i < thread->item_count; i++) {
        if (!live_comment_item(&thread->items[i])->gone) continue;
        buffer_format(frame, "%s\"%" PRId64 "\"", any ? "," : "", thread->items[i].id);
        any = true;
    }
    buffer_byte(frame, ']');
}

void frame_comments(struct buffer *frame, const struct live_thread *thread) {
    ws_frame_start(frame);
    buffer_format(frame,
                  "{\"type\":\"comments\",\"subject\":\"%s\",\"since\":%" PRId64 ",\"version\":%" PRId64
                  ",\"total\":%" PRId64 ",\"sampled\":%s",
                  thread->subject, thread->since, thread->version, thread->total, thread->sampled ? "true" : "false");
    put_items(frame, thread);
    buffer_string(frame, ",\"counters\":[");
    for (size_t i = 0; i < thread->counter_count; i++) {
        const struct thread_counters *counters = &thread->counters[i];
        buffer_format(frame, "%s{\"id\":\"%" PRId64 "\",\"likes\":%" PRId64 ",\"reply_count\":%d}", i ? "," : "",
                      counters->id, counters->likes, (int)counters->replies);
    }
    buffer_string(frame, "]}");
}

void frame_stale_thread(struct buffer *frame, const struct live_thread *thread) {
    ws_frame_start(frame);
    buffer_format(frame,
                  "{\"type\":\"stale\",\"what\":\"comments\",\"subject\":\"%s\",\"version\":%" PRId64
                  ",\"after_ms\":%" PRId64 "}",
                  thread->subject, thread->stale_version, thread->after_ms);
}
