#include "base/due.h"

#include <stdlib.h>

#include "base/mem.h"

void due_free(struct due *due) {
    free(due->items);
    *due = (struct due){.items = NULL};
}

void due_put(struct due *due, struct due_item item) {
    MEM_ROOM(due->items, due->count, due->capacity);
    size_t at = due->count++;
    for (; at && due->items[(at - 1) / 2].at > item.at; at = (at - 1) / 2) due->items[at] = due->items[(at - 1) / 2];
    due->items[at] = item;
}

/* Puts the item into the place `at` or below it: nothing that counts lies there. */
static void sink(struct due *due, size_t at, struct due_item item) {
    for (size_t child; (child = 2 * at + 1) < due->count; at = child) {
        if (child + 1 < due->count && due->items[child + 1].at < due->items[child].at) child++;
        if (due->items[child].at >= item.at) break;
        due->items[at] = due->items[child];
    }
    due->items[at] = item;
}

int64_t due_soonest(const struct due *due) { return due->count ? due->items[0].at : INT64_MAX; }

bool due_take(struct due *due, int64_t now, struct due_item *item) {
    if (!due->count || due->items[0].at > now) return false;
    *item = due->items[0];
    struct due_item last = due->items[--due->count];
    if (due->count) sink(due, 0, last);
    return true;
}

void due_keep(struct due *due, bool (*keep)(void *context, const struct due_item *item), void *context) {
    size_t kept = 0;
    for (size_t i = 0; i < due->count; i++)
        if (keep(context, &due->items[i])) due->items[kept++] = due->items[i];
    due->count = kept;
    for (size_t i = kept / 2; i-- > 0;) sink(due, i, due->items[i]);
}
