#include "fanout/comments/live_thread.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void live_thread_drop(struct live_thread *thread) {
    for (size_t i = 0; i < thread->item_count; i++) thread_told_give(thread->items[i].told);
    free(thread->items);
    free(thread->counters);
    thread->items = NULL;
    thread->counters = NULL;
    thread->item_count = thread->item_room = thread->counter_count = thread->counter_room = 0;
    thread->pending = LIVE_THREAD_NOTHING;
    thread->sampled = false;
}

void live_thread_stale(struct live_thread *thread, int64_t version, int64_t after_ms) {
    live_thread_drop(thread);
    thread->pending = LIVE_THREAD_STALE;
    thread->version = version;
    thread->after_ms = after_ms;
}

/* ---- lists by rising id ---- */

static size_t item_place(const struct live_thread *thread, int64_t id) {
    size_t low = 0, high = thread->item_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (thread->items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t counter_place(const struct live_thread *thread, int64_t id) {
    size_t low = 0, high = thread->counter_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (thread->counters[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void put_item(struct live_thread *thread, struct thread_told *told, size_t number) {
    int64_t id = told->items[number].id;
    size_t place = item_place(thread, id);
    if (place < thread->item_count && thread->items[place].id == id) {
        thread_told_give(thread->items[place].told);
    } else {
        if (thread->item_count == thread->item_room) {
            thread->item_room = thread->item_room ? 2 * thread->item_room : 4;
            thread->items = mem_resize(thread->items, thread->item_room, sizeof *thread->items);
        }
        memmove(thread->items + place + 1, thread->items + place,
                (thread->item_count++ - place) * sizeof *thread->items);
    }
    thread->items[place] = (struct live_comment){.id = id, .told = thread_told_take(told), .place = number};
}

static void put_counters(struct live_thread *thread, const struct thread_counters *counters) {
    size_t place = counter_place(thread, counters->id);
    if (place == thread->counter_count || thread->counters[place].id != counters->id) {
        if (thread->counter_count == thread->counter_room) {
            thread->counter_room = thread->counter_room ? 2 * thread->counter_room : 4;
            thread->counters = mem_resize(thread->counters, thread->counter_room, sizeof *thread->counters);
        }
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

/* ---- changes ---- */

/* Of a sampled frame: forgets the oldest item that shows a new comment. False: there is none. */
static bool forget_item(struct live_thread *thread) {
    size_t place = 0;
    while (place < thread->item_count && live_comment_item(&thread->items[place])->gone) place++;
    if (place == thread->item_count) return false;
    thread_told_give(thread->items[place].told);
    memmove(thread->items + place, thread->items + place + 1, (--thread->item_count - place) * sizeof *thread->items);
    return true;
}

static void merge(struct live_thread *thread, struct thread_told *told) {
    thread->pending = LIVE_THREAD_CHANGE;
    thread->total = told->total;
    thread->version = told->version;
    for (size_t i = 0; i < told->item_count; i++) {
        drop_counters(thread, told->items[i].id);
        put_item(thread, told, i);
    }
    for (size_t i = 0; i < told->counter_count; i++) put_counters(thread, &told->counters[i]);
    while (thread->sampled && thread->item_count > LIVE_THREAD_PENDING_MAX && forget_item(thread))
        ;
    if (thread->item_count > LIVE_THREAD_PENDING_MAX || thread->counter_count > LIVE_THREAD_PENDING_MAX)
        live_thread_stale(thread, told->version, 0);
}

void live_thread_change(struct live_thread *thread, struct thread_told *told, int64_t since, int64_t version) {
    bool follows = thread->pending != LIVE_THREAD_CHANGE || (!thread->sampled && thread->version == since);
    if (thread->pending == LIVE_THREAD_STALE) {
        thread->version = version;
    } else if (!follows) {
        live_thread_stale(thread, version, 0);
    } else {
        if (thread->pending == LIVE_THREAD_NOTHING) thread->since = since;
        merge(thread, told);
    }
}

void live_thread_show(struct live_thread *thread, struct thread_told *told) {
    if (thread->pending == LIVE_THREAD_STALE) return;
    if (thread->pending == LIVE_THREAD_NOTHING) thread->since = told->since;
    thread->sampled = true;
    merge(thread, told);
}
