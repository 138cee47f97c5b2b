/* The latest changes of things: told again to sessions whose page is a little older than what the edge has heard. */
#include <string.h>

#include "watch/edge_private.h"

/* Changes lie behind each other in a buffer, and sizes are odd: heads are copied out. */
static struct replayed head_at(const struct shown_thing *shown, size_t at) {
    struct replayed head;
    memcpy(&head, shown->replay.data + at, sizeof head);
    return head;
}

void watch_edge_drop_kept(struct watch_edge *edge, struct shown_thing *shown) {
    edge->stats.replay_bytes -= shown->replay.size;
    buffer_free(&shown->replay);
    watch_link_out(&shown->by_kept);
}

/* Drops the oldest changes until there is room. */
static void make_room(struct watch_edge *edge, struct shown_thing *shown, size_t size) {
    size_t from = 0;
    while (from < shown->replay.size && shown->replay.size - from + size > edge->options.replay_bytes)
        from += sizeof(struct replayed) + head_at(shown, from).size;
    if (!from) return;
    memmove(shown->replay.data, shown->replay.data + from, shown->replay.size - from);
    shown->replay.size -= from;
    edge->stats.replay_bytes -= from;
}

/* Drops the changes of the things that have been without news for longest, until there is room in all. */
static void make_room_in_all(struct watch_edge *edge, struct shown_thing *shown, size_t size) {
    watch_link_move(&edge->kept, &shown->by_kept);
    while (edge->stats.replay_bytes + size > edge->options.replay_total)
        watch_edge_drop_kept(edge, watch_item(edge->kept.next, struct shown_thing, by_kept));
    watch_link_move(&edge->kept, &shown->by_kept);
}

/* The version that the last kept change led to. */
static struct watch_version last_version(const struct shown_thing *shown) {
    struct replayed head = {.size = 0};
    for (size_t at = 0; at < shown->replay.size; at += sizeof head + head.size) head = head_at(shown, at);
    return head.version;
}

void watch_edge_keep(struct watch_edge *edge, struct shown_thing *shown, const struct watch_delivery *delivery) {
    const struct replayed head = {delivery->since, delivery->version, delivery->content_size};
    size_t size = sizeof head + head.size;
    if (!edge->options.replay_bytes) return;
    struct watch_version before = delivery->is == WATCH_NOTE_IS_TOLD ? delivery->since : delivery->version;
    if (shown->replay.size && watch_version_same(last_version(shown), delivery->version)) return;
    if (shown->replay.size && !watch_version_same(last_version(shown), before)) watch_edge_drop_kept(edge, shown);
    if (delivery->is != WATCH_NOTE_IS_TOLD) return;
    if (size > edge->options.replay_bytes || size > edge->options.replay_total) {
        watch_edge_drop_kept(edge, shown);
        return;
    }
    make_room(edge, shown, size);
    make_room_in_all(edge, shown, size);
    buffer_append(&shown->replay, &head, sizeof head);
    buffer_append(&shown->replay, delivery->content, head.size);
    edge->stats.replay_bytes += size;
}

bool watch_edge_replay(struct watch_edge *edge, struct seat *seat) {
    const struct watch_edge_options *o = &edge->options;
    const struct shown_thing *shown = seat->shown;
    struct watch_version known = seat->known;
    struct replayed head;
    bool begun = false;
    if (!seat->knows || !shown->replay.size || !watch_version_same(last_version(shown), shown->heard)) return false;
    for (size_t at = 0; at < shown->replay.size; at += sizeof head + head.size) {
        head = head_at(shown, at);
        if (!begun && !watch_version_follows(known, head.since, head.version)) continue;
        const uint8_t *content = shown->replay.data + at + sizeof head;
        begun = true;
        seat->known = head.version;
        edge->stats.changes++;
        edge->stats.replayed++;
        watch_edge_announce(edge, ++edge->serial, content, head.size);
        o->tell_change(o->context, seat->session, shown->name.what, shown->name.size, known, head.version, content,
                       head.size);
        known = head.version;
    }
    return begun;
}
