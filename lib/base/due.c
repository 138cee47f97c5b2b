#include "base/due.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/mem.h"

static bool earlier(struct due_item a, struct due_item b) { return a.at < b.at; }

void due_free(struct due *due) {
    free(due->items);
    *due = (struct due){.items = NULL};
}

void due_put(struct due *due, struct due_item item) {
    MEM_ROOM(due->items, due->count, due->capacity);
    due->items[due->count++] = item;
    HEAP_RISE(due->items, due->count - 1, earlier);
}

int64_t due_soonest(const struct due *due) { return due->count ? due->items[0].at : INT64_MAX; }

bool due_take(struct due *due, int64_t now, struct due_item *item) {
    if (!due->count || due->items[0].at > now) return false;
    *item = due->items[0];
    due->items[0] = due->items[--due->count];
    if (due->count) HEAP_SINK(due->items, due->count, 0, earlier);
    return true;
}

void due_keep(struct due *due, bool (*keep)(void *context, const struct due_item *item), void *context) {
    size_t kept = 0;
    for (size_t i = 0; i < due->count; i++)
        if (keep(context, &due->items[i])) due->items[kept++] = due->items[i];
    due->count = kept;
    for (size_t i = kept / 2; i-- > 0;) HEAP_SINK(due->items, kept, i, earlier);
}
