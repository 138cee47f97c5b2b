#include "fanout/comments/live_thread.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"
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
                  ",\"total\":%" PRId64 ",\"likes\":%" PRId64 ",\"sampled\":%s",
                  thread->subject, thread->since, thread->version, thread->total, thread->likes,
                  thread->sampled ? "true" : "false");
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

static void drop_change(struct live_thread *thread) {
    for (size_t i = 0; i < thread->item_count; i++) thread_told_give(thread->items[i].told);
    free(thread->items);
    free(thread->counters);
    thread->items = NULL;
    thread->counters = NULL;
    thread->item_count = thread->item_room = thread->counter_count = thread->counter_room = thread->bytes = 0;
    thread->changed = thread->sampled = thread->only_gone = false;
}

void live_thread_drop(struct live_thread *thread) {
    drop_change(thread);
    thread->stale = false;
}

void live_thread_told(struct live_thread *thread) {
    if (thread->changed)
        drop_change(thread);
    else
        thread->stale = false;
}

/* ---- lists by rising id ---- */

static size_t item_place(const struct live_thread *thread, int64_t id) {
    return sorted_items_below(thread->items, sizeof *thread->items, thread->item_count, id);
}

static size_t counter_place(const struct live_thread *thread, int64_t id) {
    return sorted_items_below(thread->counters, sizeof *thread->counters, thread->counter_count, id);
}

static void remove_item(struct live_thread *thread, size_t place) {
    thread->bytes -= live_comment_item(&thread->items[place])->size;
    thread_told_give(thread->items[place].told);
    memmove(thread->items + place, thread->items + place + 1, (--thread->item_count - place) * sizeof *thread->items);
}

static bool has_item(const struct live_thread *thread, size_t place, int64_t id) {
    return place < thread->item_count && thread->items[place].id == id;
}

static void put_item(struct live_thread *thread, struct thread_told *told, size_t number) {
    int64_t id = told->items[number].id;
    size_t place = item_place(thread, id);
    if (has_item(thread, place, id)) {
        if (thread->items[place].told->version > told->version)
            return; // it is told again, and what is pending is newer
        thread->bytes -= live_comment_item(&thread->items[place])->size;
        thread_told_give(thread->items[place].told);
    } else {
        MEM_ROOM(thread->items, thread->item_count, thread->item_room);
        memmove(thread->items + place + 1, thread->items + place,
                (thread->item_count++ - place) * sizeof *thread->items);
    }
    thread->items[place] = (struct live_comment){.id = id, .told = thread_told_take(told), .place = number};
    thread->bytes += told->items[number].size;
}

static void put_counters(struct live_thread *thread, const struct thread_counters *counters) {
    size_t place = counter_place(thread, counters->id);
    if (place == thread->counter_count || thread->counters[place].id != counters->id) {
        MEM_ROOM(thread->counters, thread->counter_count, thread->counter_room);
        memmove(thread->counters + place + 1, thread->counters + place,
                (thread->counter_count++ - place) * sizeof *thread->counters);
    }
    thread->counters[place] = *counters;
}

/* The item has newer counters than those that are pending. */
static void drop_counters(struct live_thread *thread, int64_t id) {
    size_t place = counter_place(thread, id);
    if (place == thread->counter_count || thread->counters[place].id != id) return;
    memmove(thread->counters + place, thread->counters + place + 1,
            (--thread->counter_count - place) * sizeof *thread->counters);
}

static bool too_many_items(const struct live_thread *thread) {
    return thread->item_count > LIVE_THREAD_PENDING_MAX || thread->bytes > LIVE_THREAD_PENDING_BYTES;
}

/* ---- what is gone ---- */

/* Drops all but the items that are gone, by changes to a version above that one. */
static void keep_gone(struct live_thread *thread, int64_t above) {
    size_t kept = 0, bytes = 0;
    for (size_t i = 0; i < thread->item_count; i++) {
        const struct live_comment comment = thread->items[i];
        if (!live_comment_item(&comment)->gone || comment.told->version <= above) {
            thread_told_give(comment.told);
            continue;
        }
        thread->items[kept++] = comment;
        bytes += live_comment_item(&comment)->size;
    }
    thread->item_count = kept;
    thread->bytes = bytes;
    thread->counter_count = 0;
    thread->sampled = thread->only_gone = true;
    while (too_many_items(thread)) remove_item(thread, 0);
    if (!kept) drop_change(thread);
}

/* The page will be read, and shows the rest then. */
static void merge_gone(struct live_thread *thread, struct thread_told *told) {
    for (size_t i = 0; i < told->item_count; i++) {
        size_t place = item_place(thread, told->items[i].id);
        if (told->items[i].gone)
            put_item(thread, told, i);
        else if (has_item(thread, place, told->items[i].id))
            remove_item(thread, place); // it is restored
    }
    thread->changed = true;
    thread->since = told->since;
    thread->version = told->version;
    thread->total = told->total;
    thread->likes = told->likes;
    keep_gone(thread, INT64_MIN);
}

void live_thread_stale(struct live_thread *thread, int64_t version, int64_t after_ms) {
    keep_gone(thread, INT64_MIN);
    thread->stale = true;
    thread->stale_version = version;
    thread->after_ms = after_ms;
}

void live_thread_deny(struct live_thread *thread) {
    int64_t version = thread->stale ? thread->stale_version : thread->version;
    drop_change(thread);
    thread->stale = true;
    thread->stale_version = version;
    thread->after_ms = 0;
}

void live_thread_read(struct live_thread *thread, const int64_t *version) {
    thread->stale = false;
    keep_gone(thread, version ? *version : INT64_MIN);
}

/* ---- changes ---- */

static bool must_be_told(const struct live_comment *comment) {
    const struct thread_item *item = live_comment_item(comment);
    return item->gone || item->edited;
}

/* Of a sampled frame: forgets the oldest item that shows a new comment. False: no item does. */
static bool forget_item(struct live_thread *thread) {
    size_t place = 0;
    while (place < thread->item_count && must_be_told(&thread->items[place])) place++;
    if (place == thread->item_count) return false;
    remove_item(thread, place);
    return true;
}

static void merge(struct live_thread *thread, struct thread_told *told) {
    thread->changed = true;
    thread->only_gone = false;
    thread->total = told->total;
    thread->likes = told->likes;
    thread->version = told->version;
    for (size_t i = 0; i < told->item_count; i++) {
        drop_counters(thread, told->items[i].id);
        put_item(thread, told, i);
    }
    for (size_t i = 0; i < told->counter_count; i++) put_counters(thread, &told->counters[i]);
    while (thread->sampled && too_many_items(thread) && forget_item(thread))
        ;
    if (too_many_items(thread) || thread->counter_count > LIVE_THREAD_PENDING_MAX)
        live_thread_stale(thread, told->version, 0);
}

void live_thread_change(struct live_thread *thread, struct thread_told *told, int64_t since, int64_t version) {
    bool first = !thread->changed || thread->only_gone;
    if (!thread->stale && !first && (thread->sampled || thread->version != since))
        live_thread_stale(thread, version, 0);
    if (thread->stale) {
        thread->stale_version = version;
        merge_gone(thread, told);
        return;
    }
    if (first) {
        thread->since = since;
        thread->sampled = false;
    }
    merge(thread, told);
}

void live_thread_show(struct live_thread *thread, struct thread_told *told) {
    if (thread->stale) {
        merge_gone(thread, told);
        return;
    }
    if (!thread->changed) thread->since = told->since;
    thread->sampled = true;
    merge(thread, told);
}
