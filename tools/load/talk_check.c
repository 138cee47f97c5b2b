#include "tools/load/talk_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

struct talk_thread {
    int64_t post;
    struct talk_comment **items;
    size_t count, capacity;
    struct map *by_id;
    struct map *by_floor; /* roots */
};

struct talk_thread *talk_new(int64_t post) {
    return MEM_NEW(&(struct talk_thread){.post = post, .by_id = map_new(), .by_floor = map_new()});
}

void talk_free(struct talk_thread *talk) {
    if (!talk) return;
    for (size_t i = 0; i < talk->count; i++) {
        free(talk->items[i]->likers);
        free(talk->items[i]);
    }
    free(talk->items);
    map_free(talk->by_id);
    map_free(talk->by_floor);
    free(talk);
}

int64_t talk_post(const struct talk_thread *talk) { return talk->post; }

void talk_add(struct talk_thread *talk, const struct talk_comment *comment) {
    MEM_ROOM(talk->items, talk->count, talk->capacity);
    struct talk_comment *own = mem_alloc(sizeof *own);
    *own = *comment;
    own->likers = NULL;
    own->liker_count = own->liker_capacity = 0;
    talk->items[talk->count++] = own;
    *map_put(talk->by_id, (uint64_t)own->id, NULL) = (uint64_t)(uintptr_t)own;
    if (!own->root) *map_put(talk->by_floor, (uint64_t)own->floor, NULL) = (uint64_t)(uintptr_t)own;
}

size_t talk_count(const struct talk_thread *talk) { return talk->count; }
struct talk_comment *talk_at(const struct talk_thread *talk, size_t at) {
    return talk->items[at];
}
struct talk_comment *talk_find(const struct talk_thread *talk, int64_t id) {
    return map_pointer(talk->by_id, (uint64_t)id);
}

bool talk_likes(const struct talk_comment *comment, int64_t user) {
    for (size_t i = 0; i < comment->liker_count; i++)
        if (comment->likers[i] == user) return true;
    return false;
}

void talk_like(struct talk_comment *comment, int64_t user, bool likes) {
    size_t at = 0;
    while (at < comment->liker_count && comment->likers[at] != user) at++;
    bool liked = at < comment->liker_count;
    if (liked == likes) return;
    if (liked) {
        comment->likers[at] = comment->likers[--comment->liker_count];
        return;
    }
    MEM_ROOM(comment->likers, at, comment->liker_capacity);
    comment->likers[comment->liker_count++] = user;
}

uint64_t talk_hash(const char *text) {
    static const uint8_t KEY[16] = {0};
    return hash_sip(KEY, text, strlen(text));
}

/* ---- checks ---- */

static bool fault(struct buffer *why, int64_t id, const char *what) {
    buffer_format(why, "  %" PRId64 ": %s\n", id, what);
    return true;
}

/* The part of a comment that never changes, and its state. certain_us: a page that was asked for later must show it. */
static bool item_wrong(const struct talk_comment *known, const struct talk_item *item, int64_t certain_us,
                       struct buffer *why) {
    bool deleted = known->deleted_us && known->deleted_us <= certain_us;
    if (known->user != item->user || known->root != item->root || known->answers != item->answers)
        return fault(why, item->id, "of another user, or in another place");
    if (known->floor != item->floor) return fault(why, item->id, "another number than when it was written");
    if (item->deleted && !known->deleting) return fault(why, item->id, "deleted by nobody");
    if (!item->deleted && deleted) return fault(why, item->id, "still there after its deletion");
    if (!item->deleted && known->text != item->text) return fault(why, item->id, "another text");
    return false;
}

bool talk_page_wrong(const struct talk_thread *talk, const struct talk_item *items, size_t count, int64_t asked_us,
                     int64_t margin_us, struct buffer *why) {
    int64_t certain_us = asked_us - margin_us, highest = 0;
    bool wrong = false;
    for (size_t i = 0; i < count; i++) {
        const struct talk_item *item = &items[i];
        const struct talk_comment *known = talk_find(talk, item->id);
        const struct talk_comment *there = map_pointer(talk->by_floor, (uint64_t)item->floor);
        if (i && item->floor != items[i - 1].floor - 1)
            wrong = fault(why, item->id, "out of order, or others are missing");
        if (there && there->id != item->id) wrong = fault(why, item->id, "in the place of another");
        if (known) wrong = item_wrong(known, item, certain_us, why) || wrong;
    }
    for (size_t i = 0; i < talk->count; i++) {
        const struct talk_comment *known = talk->items[i];
        if (!known->root && known->known_us <= certain_us && known->floor > highest) highest = known->floor;
    }
    if (highest > (count ? items[0].floor : 0)) wrong = fault(why, talk->post, "the newest comments are missing");
    return wrong;
}

static int64_t visible_replies(const struct talk_thread *talk, const struct talk_comment *of) {
    int64_t visible = 0;
    for (size_t i = 0; i < talk->count; i++) {
        const struct talk_comment *other = talk->items[i];
        visible += !other->deleting && (of->root ? other->answers : other->root) == of->id;
    }
    return visible;
}

bool talk_whole_wrong(const struct talk_thread *talk, const struct talk_item *items, size_t count, int64_t total,
                      struct buffer *why) {
    int64_t floor = 0, number = 0, root = 0, visible = 0;
    struct map *seen = map_new();
    bool wrong = false, created;
    for (size_t i = 0; i < count; i++) {
        const struct talk_item *item = &items[i];
        const struct talk_comment *known = talk_find(talk, item->id);
        map_put(seen, (uint64_t)item->id, &created);
        if (!created) wrong = fault(why, item->id, "twice");
        if (!item->root) {
            root = item->id;
            number = 0;
        }
        if (item->root ? item->root != root || item->floor != ++number : item->floor != ++floor)
            wrong = fault(why, item->id, "out of order");
        if (!known) {
            wrong = fault(why, item->id, "nobody has written this");
            continue;
        }
        wrong = item_wrong(known, item, INT64_MAX, why) || wrong;
        if (item->likes != (int64_t)known->liker_count) wrong = fault(why, item->id, "another number of likes");
        if (item->reply_count != visible_replies(talk, known))
            wrong = fault(why, item->id, "another number of replies");
    }
    for (size_t i = 0; i < talk->count; i++) {
        visible += !talk->items[i]->deleting;
        if (!map_find(seen, (uint64_t)talk->items[i]->id)) wrong = fault(why, talk->items[i]->id, "is missing");
    }
    if (total != visible) wrong = fault(why, talk->post, "another number of comments");
    map_free(seen);
    return wrong;
}
