#include "unit/feed/items.h"

#include <string.h>

#include "base/hash.h"

uint64_t feed_chance(struct feed_chance *chance, uint64_t of) { return hash_u64(chance->state++) % of; }

static int64_t some_id(struct feed_chance *chance, int64_t ids) {
    return 1 + (int64_t)feed_chance(chance, (uint64_t)ids);
}
static int64_t author_of(int64_t id) { return id % 7 + (id % 3 ? 0 : INT64_C(1) << 40); }

static int64_t some_cut(struct feed_chance *chance, int64_t ids) {
    return feed_chance(chance, 3) ? 0 : some_id(chance, ids);
}

void feed_item_make(struct feed_chance *chance, struct feed_item *made, int64_t offset, int64_t time_ms,
                    int64_t request, int64_t ids) {
    struct timeline_item *item = &made->item;
    uint64_t kind = feed_chance(chance, 20);
    size_t count = feed_chance(chance, FEED_ITEM_LIST + 1);
    made->offset = offset;
    made->time_ms = time_ms;
    for (size_t i = 0; i < FEED_ITEM_LIST; i++) {
        made->longs[i] = kind == 0 ? (int64_t)feed_chance(chance, FEED_PARTITIONS) : some_id(chance, ids);
        made->refs[i].id = some_id(chance, ids);
        made->refs[i].author = author_of(made->refs[i].id);
    }
    if (kind == 0) {
        count = feed_chance(chance, 4);
        *item = (struct timeline_item){.kind = TIMELINE_ITEM_BEGIN, .begin = {.wanted = {made->longs, count}}};
    } else if (kind < 3) {
        *item =
            (struct timeline_item){.kind = TIMELINE_ITEM_BACKLOG,
                                   .backlog = {.author = 3, .ids = {made->longs, count}, .cut = some_cut(chance, ids)}};
    } else if (kind < 7) {
        *item = (struct timeline_item){.kind = TIMELINE_ITEM_ANSWER,
                                       .answer = {.request = request + (feed_chance(chance, 5)   ? 0
                                                                        : feed_chance(chance, 2) ? 1
                                                                                                 : -1),
                                                  .partition = (int32_t)feed_chance(chance, FEED_PARTITIONS),
                                                  .posts = {made->refs, count},
                                                  .cut = some_cut(chance, ids)}};
    } else if (kind == 7) {
        int64_t id = some_id(chance, ids);
        *item = (struct timeline_item){.kind = TIMELINE_ITEM_GONE, .gone = {.author = author_of(id), .id = id}};
    } else {
        int64_t id = some_id(chance, ids);
        *item = (struct timeline_item){.kind = TIMELINE_ITEM_PUSH, .push = {.author = author_of(id), .id = id}};
    }
}

/* ---- the plain inbox ---- */

static void leave_out(struct plain_inbox *inbox, int64_t id) {
    if (id > inbox->horizon) inbox->horizon = id;
    if (id > inbox->rebuilt) inbox->rebuilt = id;
}

static void put(struct plain_inbox *inbox, int64_t id, int64_t author, size_t max) {
    for (size_t i = 0; i < inbox->count; i++)
        if (inbox->posts[i].id == id) return;
    inbox->posts[inbox->count++] = (struct inbox_post){.id = id, .author = author};
    if (inbox->count <= max) return;
    size_t lowest = 0;
    for (size_t i = 1; i < inbox->count; i++)
        if (inbox->posts[i].id < inbox->posts[lowest].id) lowest = i;
    leave_out(inbox, inbox->posts[lowest].id);
    inbox->posts[lowest] = inbox->posts[--inbox->count];
}

static void take_away(struct plain_inbox *inbox, int64_t id) {
    for (size_t i = 0; i < inbox->count; i++)
        if (inbox->posts[i].id == id) inbox->posts[i--] = inbox->posts[--inbox->count];
}

static void take_answer(struct plain_inbox *inbox, const struct timeline_answer *answer, size_t max) {
    if (answer->request != inbox->request) return;
    if (answer->cut > inbox->rebuilt) inbox->rebuilt = answer->cut;
    for (size_t i = 0; i < answer->posts.count; i++)
        put(inbox, answer->posts.items[i].id, answer->posts.items[i].author, max);
    inbox->waiting[answer->partition] = false;
    bool complete = true;
    for (int p = 0; p < FEED_PARTITIONS; p++) complete = complete && !inbox->waiting[p];
    if (complete && !inbox->complete) inbox->horizon = inbox->rebuilt;
    inbox->complete = complete;
}

void plain_inbox_take(struct plain_inbox *inbox, const struct feed_item *made, size_t max) {
    const struct timeline_item *item = &made->item;
    if (item->kind == TIMELINE_ITEM_BEGIN) {
        const struct event_longs *wanted = &item->begin.wanted;
        *inbox = (struct plain_inbox){
            .open = true, .request = made->offset, .opened_ms = made->time_ms, .complete = !wanted->count};
        for (size_t i = 0; i < wanted->count; i++) inbox->waiting[wanted->items[i]] = true;
    }
    if (!inbox->open) return;
    if (item->kind == TIMELINE_ITEM_PUSH) put(inbox, item->push.id, item->push.author, max);
    if (item->kind == TIMELINE_ITEM_BACKLOG) {
        leave_out(inbox, item->backlog.cut);
        for (size_t i = 0; i < item->backlog.ids.count; i++)
            put(inbox, item->backlog.ids.items[i], item->backlog.author, max);
    }
    if (item->kind == TIMELINE_ITEM_GONE) {
        take_away(inbox, item->gone.id);
        inbox->lost = true;
    }
    if (item->kind == TIMELINE_ITEM_ANSWER) take_answer(inbox, &item->answer, max);
}

static bool has(const struct plain_inbox *plain, const struct inbox_post *post) {
    for (size_t i = 0; i < plain->count; i++)
        if (plain->posts[i].id == post->id) return true;
    return false;
}

const char *plain_inbox_differs(const struct plain_inbox *plain, const struct inbox *inbox) {
    if (!plain->open)
        return inbox->request == -1 && !inbox->count && !inbox->waiting_count ? NULL : "there is an inbox";
    if (inbox->request != plain->request) return "request";
    if (inbox->opened_ms != plain->opened_ms) return "opened";
    if (inbox->horizon != plain->horizon) return "horizon";
    if (inbox->rebuilt != plain->rebuilt) return "rebuilt";
    if (inbox->count != plain->count) return "count";
    for (size_t i = 0; i < inbox->count; i++) {
        if (!has(plain, &inbox->posts[i])) return "posts";
        if (i && inbox->posts[i].id >= inbox->posts[i - 1].id) return "order";
    }
    if (inbox_complete(inbox) != plain->complete) return "complete";
    size_t waiting = 0;
    for (int p = 0; p < FEED_PARTITIONS; p++) {
        if (!plain->waiting[p]) continue;
        if (waiting == inbox->waiting_count || inbox->waiting[waiting++] != p) return "waiting";
    }
    return waiting == inbox->waiting_count ? NULL : "waiting";
}

const char *plain_inbox_differs_above(const struct plain_inbox *plain, struct inbox *inbox) {
    struct plain_inbox above = *plain;
    if (!plain->open) return plain_inbox_differs(plain, inbox);
    if (inbox->horizon < plain->horizon) return "horizon";
    above.count = 0;
    for (size_t i = 0; i < plain->count; i++)
        if (plain->posts[i].id > inbox->horizon) above.posts[above.count++] = plain->posts[i];
    while (inbox->count && inbox->posts[inbox->count - 1].id <= inbox->horizon) inbox->count--;
    above.horizon = inbox->horizon;
    above.rebuilt = inbox->rebuilt;
    return plain_inbox_differs(&above, inbox);
}
