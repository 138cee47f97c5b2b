/* What is to happen at which time: a heap. An item that was put can not be taken back; whoever takes it out looks whether it still counts.
 * Pure but for allocation; one thread. */
#ifndef ROUTER_DUE_H
#define ROUTER_DUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct due_item {
    int64_t at; /* ms */
    uint32_t what;
};

/* A zero-initialised one is empty and valid. */
struct due {
    struct due_item *items;
    size_t count, capacity;
};

void due_free(struct due *due); /* the memory; empty and valid afterwards */
void due_put(struct due *due, struct due_item item);
bool due_take(struct due *due, int64_t now, struct due_item *item); /* the earliest, if its time has come */

#endif
