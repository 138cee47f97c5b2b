#include "router/due.h"

#include <stdlib.h>

#include "base/mem.h"

enum { SMALLEST = 64 };

void due_free(struct due *due) {
    free(due->items);
    *due = (struct due){.items = NULL};
}

void due_put(struct due *due, struct due_item item) {
    if (due->count == due->capacity) {
        due->capacity = due->capacity ? due->capacity * 2 : SMALLEST;
        due->items = mem_resize(due->items, due->capacity, sizeof *due->items);
    }
    size_t at = due->count++;
    for (; at && due->items[(at - 1) / 2].at > item.at; at = (at - 1) / 2) due->items[at] = due->items[(at - 1) / 2];
    due->items[at] = item;
}

bool due_take(struct due *due, int64_t now, struct due_item *item) {
    if (!due->count || due->items[0].at > now) return false;
    *item = due->items[0];
    struct due_item last = due->items[--due->count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < due->count) {
        if (child + 1 < due->count && due->items[child + 1].at < due->items[child].at) child++;
        if (due->items[child].at >= last.at) break;
        due->items[at] = due->items[child];
        at = child;
    }
    due->items[at] = last;
    return true;
}
