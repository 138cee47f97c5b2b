#include "router/backlog.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

enum { FIRST = 1024 };

struct node {
    struct backlog_item item;
    size_t before, next; /* indexes; 0 is the ring's anchor. Free nodes: next only. */
};

struct backlog {
    struct node *nodes; /* [0] is the anchor: its next is the oldest, its before the newest */
    size_t made, room;  /* nodes ever used, and allocated, the anchor included */
    size_t free;        /* first free node; 0: none */
    size_t count, capacity;
    struct map *users; /* -> index */
};

struct backlog *backlog_new(size_t capacity) {
    return MEM_NEW(&(struct backlog){
        .nodes = mem_zero(FIRST, sizeof(struct node)),
        .made = 1,
        .room = FIRST,
        .capacity = capacity,
        .users = map_new(),
    });
}

void backlog_free(struct backlog *backlog) {
    if (!backlog) return;
    map_free(backlog->users);
    free(backlog->nodes);
    free(backlog);
}

size_t backlog_count(const struct backlog *backlog) { return backlog->count; }

bool backlog_full(const struct backlog *backlog) { return backlog->count >= backlog->capacity; }

static size_t node_new(struct backlog *backlog) {
    size_t index = backlog->free;
    if (index) {
        backlog->free = backlog->nodes[index].next;
        return index;
    }
    if (backlog->made == backlog->room) {
        backlog->room *= 2;
        backlog->nodes = mem_resize(backlog->nodes, backlog->room, sizeof *backlog->nodes);
    }
    return backlog->made++;
}

void backlog_put(struct backlog *backlog, const struct backlog_item *item) {
    size_t index = node_new(backlog);
    struct node *nodes = backlog->nodes;
    nodes[index] = (struct node){.item = *item, .before = nodes[0].before, .next = 0};
    nodes[nodes[0].before].next = index;
    nodes[0].before = index;
    *map_put(backlog->users, (uint64_t)item->event.user, NULL) = index;
    backlog->count++;
}

static void take_out(struct backlog *backlog, size_t index) {
    struct node *nodes = backlog->nodes, *node = &nodes[index];
    map_remove(backlog->users, (uint64_t)node->item.event.user, NULL);
    nodes[node->before].next = node->next;
    nodes[node->next].before = node->before;
    node->next = backlog->free;
    backlog->free = index;
    backlog->count--;
}

bool backlog_supersede(struct backlog *backlog, const struct location *event) {
    const uint64_t *index = map_find(backlog->users, (uint64_t)event->user);
    if (!index || event->kind != LOCATION_REPORT) return false;
    const struct location *held = &backlog->nodes[*index].item.event;
    if (event->session != held->session || event->route != held->route) return false;
    if (event->time < held->time || event->opted < held->opted) return false;
    take_out(backlog, *index);
    return true;
}

bool backlog_take(struct backlog *backlog, int64_t user, struct backlog_item *item) {
    const uint64_t *index = map_find(backlog->users, (uint64_t)user);
    if (!index) return false;
    *item = backlog->nodes[*index].item;
    take_out(backlog, *index);
    return true;
}

bool backlog_take_oldest(struct backlog *backlog, struct backlog_item *item) {
    size_t index = backlog->nodes[0].next;
    if (!index) return false;
    *item = backlog->nodes[index].item;
    take_out(backlog, index);
    return true;
}

void backlog_lower(const struct backlog *backlog, int64_t *offsets, int32_t partitions) {
    for (size_t i = backlog->nodes[0].next; i; i = backlog->nodes[i].next) {
        const struct backlog_item *item = &backlog->nodes[i].item;
        if (item->partition < partitions && item->offset < offsets[item->partition])
            offsets[item->partition] = item->offset;
    }
}
