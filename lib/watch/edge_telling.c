/* Tells sessions: passes on the deliveries of owners, and names a newer version to a session that says which one its page has. */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "watch/edge_private.h"

/* A page with a larger number than the edge has heard is newer, most likely, and the edge is about to hear of it. It may also be
 * from a gateway's copy, and its newest item deleted. So it is read again, but not at once, or it would be read over and over. */
enum { AHEAD_MS = 1000 };

/* ---- one session ---- */

void watch_edge_announce(struct watch_edge *edge, uint64_t serial, const void *content, size_t size) {
    if (edge->announced == serial || !edge->options.content) return;
    edge->announced = serial;
    edge->options.content(edge->options.context, content, size);
}

static void tell_stale(struct watch_edge *edge, struct seat *seat, size_t many) {
    const struct shown_thing *shown = seat->shown;
    const struct watch_edge_options *o = &edge->options;
    int64_t window = (int64_t)(many - 1) * o->stale_step_ms;
    if (window > o->stale_spread_ms) window = o->stale_spread_ms;
    int64_t after = window > 0 ? (int64_t)(hash_u64(edge->random++) % (uint64_t)(window + 1)) : 0;
    if (seat->knows && seat->known.number > shown->heard.number) after += AHEAD_MS;
    seat->knows = true;
    seat->known = shown->heard;
    edge->stats.stales++;
    o->tell_stale(o->context, seat->session, shown->name.what, shown->name.size, shown->heard, after);
}

static void tell_change(struct watch_edge *edge, struct seat *seat, const struct watch_delivery *change) {
    const struct watch_edge_options *o = &edge->options;
    struct watch_version since = seat->known;
    seat->known = change->version;
    edge->stats.changes++;
    watch_edge_announce(edge, edge->telling_serial, change->content, change->content_size);
    o->tell_change(o->context, seat->session, change->what, change->what_size, since, change->version, change->content,
                   change->content_size);
}

static void tell_any(struct watch_edge *edge, const struct seat *seat, const struct watch_delivery *delivery) {
    const struct watch_edge_options *o = &edge->options;
    if (!o->tell_any) return;
    edge->stats.changes++;
    watch_edge_announce(edge, edge->telling_serial, delivery->content, delivery->content_size);
    o->tell_any(o->context, seat->session, delivery->what, delivery->what_size, delivery->content,
                delivery->content_size);
}

static bool is_any(const struct watch_delivery *delivery) {
    return watch_version_same(delivery->version, WATCH_VERSION_ANY);
}

/* Whether the session must read its page, now that the edge has heard a version. */
static bool is_stale(const struct seat *seat) {
    struct watch_version heard = seat->shown->heard;
    if (!seat->knows) return true;
    if (watch_version_counters(seat->known, heard)) return seat->known.number < heard.number;
    return !watch_version_same(seat->known, heard);
}

void watch_edge_tell_second(struct watch_edge *edge, struct seat *seat) {
    if (seat->shown->heard_any && is_stale(seat) && !watch_edge_replay(edge, seat)) tell_stale(edge, seat, 1);
}

/* ---- the sessions of a thing ---- */

/* Takes over the version that an owner says. false: it is older than what the edge has heard already. */
static bool hear(struct shown_thing *shown, const struct watch_delivery *delivery) {
    struct watch_version version = delivery->version;
    if (shown->heard_any) {
        bool falls = version.number < shown->heard.number;
        bool follows = watch_version_same(delivery->since, shown->heard) && delivery->is == WATCH_NOTE_IS_TOLD;
        if (falls && watch_version_counters(version, shown->heard)) return false;
        if (falls && delivery->is == WATCH_NOTE_IS_TOLD && !follows) return false;
    }
    shown->heard_any = true;
    shown->heard = version;
    return true;
}

static void tell_seat(struct watch_edge *edge, struct seat *seat, const struct watch_delivery *delivery) {
    if (is_any(delivery))
        tell_any(edge, seat, delivery);
    else if (delivery->is == WATCH_NOTE_IS_TOLD && seat->knows &&
             watch_version_follows(seat->known, delivery->since, delivery->version))
        tell_change(edge, seat, delivery);
    else if (is_stale(seat))
        tell_stale(edge, seat, edge->telling_seats);
}

void watch_edge_forget_seat(struct watch_edge *edge, struct seat *seat) {
    if (edge->telling && edge->next_seat == &seat->in_shown) edge->next_seat = seat->in_shown.next;
}

/* ---- deliveries ---- */

/* The delivery is not told yet: finds out what it is for. */
static void begin(struct watch_edge *edge, const struct watch_delivery *delivery) {
    if (delivery->is == WATCH_NOTE_IS_AGAIN) {
        bool ours = delivery->watcher == edge->options.watcher; // and not of the route's former reader
        if (!ours || delivery->partition < 0 || delivery->partition >= edge->options.partitions) return;
        edge->stats.rewrites++;
        watch_edge_all_unwritten(edge, delivery->partition);
        return;
    }
    struct shown_thing *shown =
        (struct shown_thing *)watch_names_find(edge->names, delivery->what, delivery->what_size);
    if (!shown) return;
    if (!is_any(delivery)) {
        bool news = hear(shown, delivery);
        watch_edge_news(edge, shown);
        if (!news) return;
        watch_edge_keep(edge, shown, delivery);
    }
    edge->telling_serial = ++edge->serial;
    edge->telling = shown;
    edge->telling_seats = shown->seat_count;
    edge->next_seat = shown->seats.next;
}

/* Tells the delivery to the sessions that are left, or some of them. */
static void tell_seats(struct watch_edge *edge, const struct watch_delivery *delivery, size_t *budget) {
    while (*budget > 0 && edge->telling && edge->next_seat != &edge->telling->seats) {
        struct seat *seat = watch_item(edge->next_seat, struct seat, in_shown);
        edge->next_seat = edge->next_seat->next;
        tell_seat(edge, seat, delivery); // may take seats away, this one and the next ones, too
        --*budget;
    }
    if (edge->telling && edge->next_seat == &edge->telling->seats) edge->telling = NULL;
}

/* Tells the queue's first delivery, or goes on with it; leaves it there when the budget is used up before the end. */
static void tell_first(struct watch_edge *edge, size_t *budget) {
    const uint8_t *first = edge->queue.data + edge->queue_start;
    uint32_t size;
    memcpy(&size, first, sizeof size);
    struct watch_delivery delivery;
    watch_delivery_decode(first + sizeof size, size, &delivery); // was well-formed when it was taken
    if (!edge->telling) edge->is_traced = tracer_unpark(edge->options.tracer, edge, edge->told, &edge->traced, NULL);
    struct trace_scope *before = tracer_enter(edge->options.tracer, edge->is_traced ? &edge->traced : NULL);
    if (!edge->telling) {
        begin(edge, &delivery);
        --*budget;
    }
    tell_seats(edge, &delivery, budget);
    tracer_enter(edge->options.tracer, before);
    if (edge->telling) return;
    edge->queue_start += sizeof size + size;
    edge->told++;
}

size_t watch_edge_tell(struct watch_edge *edge, size_t budget) {
    while (budget > 0 && edge->queue_start < edge->queue.size) tell_first(edge, &budget);
    if (edge->queue_start == edge->queue.size) {
        buffer_clear(&edge->queue);
        edge->queue_start = 0;
    }
    return budget;
}

int watch_edge_take(struct watch_edge *edge, const void *payload, size_t size) {
    struct watch_delivery delivery;
    if (size > UINT32_MAX || watch_delivery_decode(payload, size, &delivery)) return -EBADMSG;
    size_t waiting = edge->queue.size - edge->queue_start;
    if (waiting > 0 && waiting + size > edge->options.queue_bytes) {
        edge->stats.refused++;
        return -EAGAIN;
    }
    if (edge->queue_start > waiting) { // Less waits than was told: moving it is cheap.
        memmove(edge->queue.data, edge->queue.data + edge->queue_start, waiting);
        edge->queue.size = waiting;
        edge->queue_start = 0;
    }
    uint32_t length = (uint32_t)size;
    buffer_append(&edge->queue, &length, sizeof length);
    buffer_append(&edge->queue, payload, size);
    tracer_park(edge->options.tracer, edge, edge->queued++);
    return 0;
}
