#include "fanout/feed/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"

/* ---- ids that were told ---- */

/* The place of the first one that is not below the id. */
static size_t told_place(const struct live_feed *live, int64_t id) {
    return sorted_below(live->told, live->told_count, id);
}

static bool may_be_told(const struct live_feed *live, int64_t id) {
    size_t place = told_place(live, id);
    return id > live->forgotten && (place == live->told_count || live->told[place] != id);
}

static void forget_lowest(struct live_feed *live) {
    live->forgotten = live->told[0];
    live->told_count--;
    memmove(live->told, live->told + 1, live->told_count * sizeof *live->told);
}

static void told_add(struct live_feed *live, int64_t id) {
    size_t place = told_place(live, id);
    MEM_ROOM(live->told, live->told_count, live->told_room);
    memmove(live->told + place + 1, live->told + place, (live->told_count - place) * sizeof *live->told);
    live->told[place] = id;
    if (++live->told_count > LIVE_TOLD_MAX) forget_lowest(live);
}

/* ---- pending changes ---- */

void live_drop(struct live_feed *live) {
    for (size_t i = 0; i < live->post_count; i++) text_give(live->posts[i].text);
    free(live->posts);
    free(live->gone);
    live->posts = NULL;
    live->gone = NULL;
    live->post_count = live->post_room = live->gone_count = live->gone_room = 0;
    live->pending = LIVE_NOTHING;
    live->asked_ms = 0;
}

void live_stale(struct live_feed *live, struct watch_version version, int64_t after_ms) {
    live_drop(live);
    live->pending = LIVE_STALE;
    live->version = version;
    live->after_ms = after_ms;
}

static size_t find_post(const struct live_feed *live, int64_t id) {
    size_t i = 0;
    while (i < live->post_count && live->posts[i].id != id) i++;
    return i;
}

static size_t find_gone(const struct live_feed *live, int64_t id) {
    size_t i = 0;
    while (i < live->gone_count && live->gone[i] != id) i++;
    return i;
}

static void add_post(struct live_feed *live, struct texts *texts, const struct added_post *post) {
    MEM_ROOM(live->posts, live->post_count, live->post_room);
    live->posts[live->post_count++] =
        (struct live_post){post->id, post->author, texts_get(texts, post->id, post->version)};
}

/* True: the phone can be told of it. */
static bool take_post(struct live_feed *live, struct texts *texts, const struct added_post *post) {
    int64_t id = post->id;
    size_t place = find_gone(live, id);
    if (place < live->gone_count) { /* the phone has it still, and keeps it */
        live->gone[place] = live->gone[--live->gone_count];
        return true;
    }
    if (find_post(live, id) < live->post_count) return true;
    if (!may_be_told(live, id) || live->post_count == LIVE_PENDING_MAX) return false;
    add_post(live, texts, post);
    return true;
}

void live_hide(struct live_feed *live, size_t place) {
    text_give(live->posts[place].text);
    live->posts[place] = live->posts[--live->post_count];
}

static bool take_gone(struct live_feed *live, int64_t id) {
    size_t place = find_post(live, id);
    if (place < live->post_count) {
        live_hide(live, place);
        return true;
    }
    if (find_gone(live, id) < live->gone_count) return true;
    if (live->gone_count == LIVE_PENDING_MAX) return false;
    MEM_ROOM(live->gone, live->gone_count, live->gone_room);
    live->gone[live->gone_count++] = id;
    return true;
}

static bool take_all(struct live_feed *live, struct texts *texts, const struct feed_change *change) {
    for (size_t i = 0; i < change->gone.count; i++)
        if (!take_gone(live, change->gone.items[i])) return false;
    for (size_t i = 0; i < change->posts.count; i++)
        if (!take_post(live, texts, &change->posts.items[i])) return false;
    return true;
}

void live_change(struct live_feed *live, struct texts *texts, struct watch_version since, struct watch_version version,
                 const struct feed_change *change) {
    bool follows = live->pending != LIVE_CHANGE || watch_version_same(live->version, since);
    if (live->pending == LIVE_STALE) {
        live->version = version;
        return;
    }
    if (live->pending == LIVE_NOTHING) live->since = since;
    live->pending = LIVE_CHANGE;
    live->version = version;
    if (!follows || !take_all(live, texts, change)) live_stale(live, version, 0);
}

struct live_post *live_unsettled(const struct live_feed *live) {
    for (size_t i = 0; i < live->post_count; i++)
        if (text_state_of(live->posts[i].text) == TEXT_ASKED) return &live->posts[i];
    return NULL;
}

static int newest_first(const void *a, const void *b) {
    const struct live_post *x = a, *y = b;
    return (x->id < y->id) - (x->id > y->id);
}

void live_sort(struct live_feed *live) {
    if (live->post_count) qsort(live->posts, live->post_count, sizeof *live->posts, newest_first);
}

void live_told(struct live_feed *live) {
    for (size_t i = 0; i < live->post_count; i++)
        if (text_state_of(live->posts[i].text) != TEXT_NONE) told_add(live, live->posts[i].id);
    live_drop(live);
}

void live_free(struct live_feed *live) {
    live_drop(live);
    free(live->told);
    live->told = NULL;
    live->told_count = live->told_room = 0;
}
