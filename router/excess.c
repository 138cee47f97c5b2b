#include "router/excess.h"

#include <stdlib.h>

#include "base/mem.h"

enum { FORGET_MS = 60000 };

enum progress { NOTICED, SENT, ASKED };

struct item {
    int64_t user, other, since, offset;
    int64_t asked_ms;
    uint64_t ticket;
    int32_t partition;
    enum progress progress;
};

struct excess { /* few at any time: walked, not indexed */
    struct item *items;
    size_t count, capacity;
    uint64_t tickets;
};

struct excess *excess_new(void) {
    return mem_zero(1, sizeof(struct excess));
}

void excess_free(struct excess *excess) {
    if (!excess) return;
    free(excess->items);
    free(excess);
}

static struct item *find(struct excess *excess, uint64_t ticket) {
    for (size_t i = 0; i < excess->count; i++) {
        if (excess->items[i].ticket == ticket) return &excess->items[i];
    }
    return NULL;
}

static void drop(struct excess *excess, struct item *item) { *item = excess->items[--excess->count]; }

void excess_notice(struct excess *excess, int32_t partition, int64_t user, int64_t other, int64_t since,
                   int64_t offset) {
    for (size_t i = 0; i < excess->count; i++) {
        const struct item *item = &excess->items[i];
        if (item->user == user && item->other == other && item->since == since) return;
    }
    if (excess->count == excess->capacity) {
        excess->capacity = excess->capacity ? excess->capacity * 2 : 16;
        excess->items = mem_resize(excess->items, excess->capacity, sizeof *excess->items);
    }
    excess->items[excess->count++] = (struct item){
        .user = user,
        .other = other,
        .since = since,
        .offset = offset,
        .ticket = ++excess->tickets,
        .partition = partition,
        .progress = NOTICED,
    };
}

bool excess_next(const struct excess *excess, int32_t partition, struct excess_item *out) {
    const struct item *newest = NULL;
    for (size_t i = 0; i < excess->count; i++) {
        const struct item *item = &excess->items[i];
        if (item->partition != partition || item->progress != NOTICED) continue;
        if (!newest || item->offset > newest->offset) newest = item;
    }
    if (!newest) return false;
    *out = (struct excess_item){
        .user = newest->user, .other = newest->other, .since = newest->since, .ticket = newest->ticket};
    return true;
}

void excess_drop(struct excess *excess, uint64_t ticket) {
    struct item *item = find(excess, ticket);
    if (item) drop(excess, item);
}

void excess_sent(struct excess *excess, uint64_t ticket) {
    struct item *item = find(excess, ticket);
    if (item) item->progress = SENT;
}

void excess_acknowledge(struct excess *excess, uint64_t ticket, bool stored, int64_t now_ms) {
    struct item *item = find(excess, ticket);
    if (!item || item->progress != SENT) return; // parted, detached, or somebody else's meanwhile
    item->progress = stored ? ASKED : NOTICED;
    item->asked_ms = now_ms;
}

void excess_parted(struct excess *excess, int64_t user, int64_t other) {
    for (size_t i = excess->count; i-- > 0;) {
        if (excess->items[i].user == user && excess->items[i].other == other) drop(excess, &excess->items[i]);
    }
}

void excess_expire(struct excess *excess, int64_t now_ms) {
    for (size_t i = excess->count; i-- > 0;) {
        struct item *item = &excess->items[i];
        if (item->progress == ASKED && now_ms - item->asked_ms >= FORGET_MS) drop(excess, item);
    }
}

void excess_detach(struct excess *excess, int32_t partition) {
    for (size_t i = excess->count; i-- > 0;) {
        if (excess->items[i].partition == partition) drop(excess, &excess->items[i]);
    }
}

void excess_renotice(struct excess *excess, int32_t partition) {
    for (size_t i = 0; i < excess->count; i++) {
        if (excess->items[i].partition == partition) excess->items[i].progress = NOTICED;
    }
}

size_t excess_on_the_way(const struct excess *excess, int64_t user) {
    size_t count = 0;
    for (size_t i = 0; i < excess->count; i++)
        count += excess->items[i].user == user && excess->items[i].progress != NOTICED;
    return count;
}

int64_t excess_hold(const struct excess *excess, int32_t partition) {
    int64_t hold = INT64_MAX;
    for (size_t i = 0; i < excess->count; i++) {
        const struct item *item = &excess->items[i];
        if (item->partition == partition && item->progress != ASKED && item->offset < hold) hold = item->offset;
    }
    return hold;
}

size_t excess_count(const struct excess *excess) { return excess->count; }
