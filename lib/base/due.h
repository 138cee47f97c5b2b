/* A heap of things that are to happen at certain times, the earliest first. An item that was put can not be taken back: the code that takes
 * it out looks whether it still counts, and due_keep leaves out many that do not. Pure but for allocation; one thread.
 *
 *     due_put({100, 7}), due_put({50, 9})     due_take(60): {50, 9}     due_take(60): false
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct due_item {
    int64_t at; /* ms */
    uint64_t what;
};

/* A zero-initialised one is empty and valid. */
struct due {
    struct due_item *items;
    size_t count, capacity;
};

void due_free(struct due *due); /* the memory; empty and valid afterwards */
void due_put(struct due *due, struct due_item item);

/* No item is before this time; INT64_MAX: there is none. */
int64_t due_soonest(const struct due *due);

/* Removes the earliest item, if its time has come. */
bool due_take(struct due *due, int64_t now, struct due_item *item);

/* Leaves out the items that `keep` says no to. */
void due_keep(struct due *due, bool (*keep)(void *context, const struct due_item *item), void *context);
