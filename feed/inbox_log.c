#include "feed/inbox_log.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"

enum { KIND_BITS = 3, NUMBERS_MAX = 4 }; /* NUMBERS_MAX: the head and what stands before the list */

/* ---- writing ---- */

static uint8_t *put_head(uint8_t *at, enum inbox_event kind, size_t count) {
    return varint_put(at, (uint64_t)count << KIND_BITS | kind);
}

static uint8_t *put_id(uint8_t *at, int64_t id, int64_t before) {
    return zigzag_put(at, (int64_t)((uint64_t)id - (uint64_t)before));
}

static uint8_t *put_longs(uint8_t *at, const struct event_longs *longs) {
    for (size_t i = 0; i < longs->count; i++) at = put_id(at, longs->items[i], i ? longs->items[i - 1] : 0);
    return at;
}

static uint8_t *put_push(uint8_t *at, const struct timeline_push *push) {
    at = put_head(at, INBOX_EVENT_PUSHES, 1);
    at = put_id(at, push->id, 0);
    return zigzag_put(at, push->author);
}

static uint8_t *put_backlog(uint8_t *at, const struct timeline_backlog *backlog) {
    at = put_head(at, INBOX_EVENT_BACKLOG, backlog->ids.count);
    at = zigzag_put(at, backlog->author);
    at = zigzag_put(at, backlog->cut);
    return put_longs(at, &backlog->ids);
}

static uint8_t *put_answer(uint8_t *at, const struct timeline_answer *answer) {
    at = put_head(at, INBOX_EVENT_ANSWER, answer->posts.count);
    at = zigzag_put(at, answer->request);
    at = zigzag_put(at, answer->partition);
    at = zigzag_put(at, answer->cut);
    for (size_t i = 0; i < answer->posts.count; i++) {
        at = put_id(at, answer->posts.items[i].id, i ? answer->posts.items[i - 1].id : 0);
        at = zigzag_put(at, answer->posts.items[i].author);
    }
    return at;
}

static uint8_t *put_begin(uint8_t *at, const struct timeline_begin *begin, int64_t offset, int64_t time_ms) {
    at = put_head(at, INBOX_EVENT_BEGIN, begin->wanted.count);
    at = zigzag_put(at, offset);
    at = zigzag_put(at, time_ms);
    return put_longs(at, &begin->wanted);
}

static uint8_t *put_removed(uint8_t *at, const struct timeline_gone *gone) {
    return zigzag_put(put_head(at, INBOX_EVENT_REMOVED, 0), gone->id);
}

bool inbox_log_takes(enum timeline_item_kind kind) {
    switch (kind) {
    case TIMELINE_ITEM_PUSH:
    case TIMELINE_ITEM_BACKLOG:
    case TIMELINE_ITEM_ANSWER:
    case TIMELINE_ITEM_BEGIN:
    case TIMELINE_ITEM_GONE: return true;
    case TIMELINE_ITEM_REQUEST:
    case TIMELINE_ITEM_HOT:
    case TIMELINE_ITEM_HOT_GONE:
    case TIMELINE_ITEM_EDITED:
    case TIMELINE_ITEM_MODERATED: return false;
    }
    return false;
}

void inbox_log_item(struct buffer *out, const struct timeline_item *item, int64_t offset, int64_t time_ms) {
    uint8_t *start = buffer_reserve(out, NUMBERS_MAX * VARINT_MAX + timeline_item_size_max(item)), *at = start;
    if (item->kind == TIMELINE_ITEM_PUSH) at = put_push(at, &item->push);
    if (item->kind == TIMELINE_ITEM_BACKLOG) at = put_backlog(at, &item->backlog);
    if (item->kind == TIMELINE_ITEM_ANSWER) at = put_answer(at, &item->answer);
    if (item->kind == TIMELINE_ITEM_BEGIN) at = put_begin(at, &item->begin, offset, time_ms);
    if (item->kind == TIMELINE_ITEM_GONE) at = put_removed(at, &item->gone);
    buffer_commit(out, (size_t)(at - start));
}

void inbox_log_none(struct buffer *out) { buffer_byte(out, INBOX_EVENT_NONE); }

/* ---- reading ---- */

static const uint8_t *get_head(const uint8_t *at, const uint8_t *end, enum inbox_event *kind, size_t *count) {
    uint64_t head;
    at = varint_get(at, end, &head);
    if (!at) return NULL;
    *kind = (enum inbox_event)(head & ((1 << KIND_BITS) - 1));
    *count = (size_t)(head >> KIND_BITS);
    return *count <= (size_t)(end - at) ? at : NULL; // each takes a byte at least
}

static const uint8_t *get_id(const uint8_t *at, const uint8_t *end, int64_t before, int64_t *id) {
    int64_t difference;
    at = zigzag_get(at, end, &difference);
    if (at) *id = (int64_t)((uint64_t)before + (uint64_t)difference);
    return at;
}

static const uint8_t *get_longs(const uint8_t *at, const uint8_t *end, int64_t *longs, size_t count) {
    for (size_t i = 0; at && i < count; i++) at = get_id(at, end, i ? longs[i - 1] : 0, &longs[i]);
    return at;
}

static const uint8_t *get_posts(const uint8_t *at, const uint8_t *end, struct inbox_post *posts, size_t count) {
    for (size_t i = 0; at && i < count; i++) {
        at = get_id(at, end, i ? posts[i - 1].id : 0, &posts[i].id);
        if (at) at = zigzag_get(at, end, &posts[i].author);
    }
    return at;
}

void inbox_gathered_free(struct inbox_gathered *gathered) {
    free(gathered->posts);
    *gathered = (struct inbox_gathered){.posts = NULL};
}

static const uint8_t *gather(const uint8_t *at, const uint8_t *end, size_t count, struct inbox_gathered *gathered) {
    MEM_FIT(gathered->posts, gathered->count + count, gathered->capacity);
    at = get_posts(at, end, gathered->posts + gathered->count, count);
    if (at) gathered->count += count;
    return at;
}

void inbox_log_settle(struct inbox *inbox, size_t max, struct inbox_gathered *gathered) {
    inbox_push_many(inbox, gathered->posts, gathered->count, max);
    gathered->count = 0;
}

static const uint8_t *apply_backlog(struct inbox *inbox, const uint8_t *at, const uint8_t *end, size_t count,
                                    size_t max) {
    int64_t author, cut, *ids = mem_alloc(count * sizeof *ids);
    at = zigzag_get(at, end, &author);
    if (at) at = zigzag_get(at, end, &cut);
    if (at) at = get_longs(at, end, ids, count);
    if (at) inbox_backlog(inbox, author, ids, count, cut, max);
    free(ids);
    return at;
}

static const uint8_t *apply_answer(struct inbox *inbox, const uint8_t *at, const uint8_t *end, size_t count,
                                   size_t max) {
    int64_t request, partition, cut;
    struct inbox_post *posts = mem_alloc(count * sizeof *posts);
    at = zigzag_get(at, end, &request);
    if (at) at = zigzag_get(at, end, &partition);
    if (at) at = zigzag_get(at, end, &cut);
    if (at) at = get_posts(at, end, posts, count);
    if (at) inbox_answer(inbox, request, (int32_t)partition, posts, count, cut, max);
    free(posts);
    return at;
}

static const uint8_t *apply_begin(struct inbox *inbox, const uint8_t *at, const uint8_t *end, size_t count) {
    int64_t request, time_ms, *wanted = mem_alloc(count * sizeof *wanted);
    at = zigzag_get(at, end, &request);
    if (at) at = zigzag_get(at, end, &time_ms);
    if (at) at = get_longs(at, end, wanted, count);
    if (at) inbox_begin(inbox, request, time_ms, wanted, count);
    free(wanted);
    return at;
}

static const uint8_t *apply_removed(struct inbox *inbox, const uint8_t *at, const uint8_t *end) {
    int64_t id;
    at = zigzag_get(at, end, &id);
    if (at) inbox_remove(inbox, id);
    return at;
}

int inbox_log_apply(struct inbox *inbox, const uint8_t *bytes, size_t size, size_t max,
                    struct inbox_gathered *gathered) {
    const uint8_t *at = bytes, *end = bytes + size;
    enum inbox_event kind;
    size_t count;
    while (at && at < end) {
        at = get_head(at, end, &kind, &count);
        if (!at) break;
        if (kind != INBOX_EVENT_PUSHES) inbox_log_settle(inbox, max, gathered);
        switch (kind) {
        case INBOX_EVENT_PUSHES: at = gather(at, end, count, gathered); break;
        case INBOX_EVENT_BACKLOG: at = apply_backlog(inbox, at, end, count, max); break;
        case INBOX_EVENT_ANSWER: at = apply_answer(inbox, at, end, count, max); break;
        case INBOX_EVENT_BEGIN: at = apply_begin(inbox, at, end, count); break;
        case INBOX_EVENT_NONE: inbox_clear(inbox); break;
        case INBOX_EVENT_REMOVED: at = apply_removed(inbox, at, end); break;
        default: at = NULL;
        }
    }
    return at ? 0 : -EBADMSG;
}

/* ---- joining ---- */

void inbox_log_end(struct buffer *out, struct inbox_gathered *gathered) {
    if (!gathered->count) return;
    uint8_t *start = buffer_reserve(out, VARINT_MAX * (1 + 2 * gathered->count)), *at = start;
    at = put_head(at, INBOX_EVENT_PUSHES, gathered->count);
    for (size_t i = 0; i < gathered->count; i++) {
        at = put_id(at, gathered->posts[i].id, i ? gathered->posts[i - 1].id : 0);
        at = zigzag_put(at, gathered->posts[i].author);
    }
    buffer_commit(out, (size_t)(at - start));
    gathered->count = 0;
}

void inbox_log_join(struct buffer *out, const uint8_t *event, size_t size, struct inbox_gathered *gathered) {
    enum inbox_event kind;
    size_t count;
    const uint8_t *at = get_head(event, event + size, &kind, &count);
    if (at && kind == INBOX_EVENT_PUSHES) {
        gather(at, event + size, count, gathered);
        return;
    }
    inbox_log_end(out, gathered);
    buffer_append(out, event, size);
}
