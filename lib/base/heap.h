/* Binary heaps in arrays: the first item is before all others, and an item at i before those at 2 i + 1 and 2 i + 2. `before` is a function of
 * two items. These are macros, as items are of many types and the loops are hot. */
#pragma once

#include <stddef.h>

/* The item at `place` goes down to where nothing below is before it. */
#define HEAP_SINK(items, count, place, before)                                                                         \
    do {                                                                                                               \
        size_t heap_at = (place);                                                                                      \
        __typeof__(*(items)) heap_item = (items)[heap_at];                                                             \
        for (size_t child; (child = 2 * heap_at + 1) < (count); heap_at = child) {                                     \
            if (child + 1 < (count) && before((items)[child + 1], (items)[child])) child++;                            \
            if (!before((items)[child], heap_item)) break;                                                             \
            (items)[heap_at] = (items)[child];                                                                         \
        }                                                                                                              \
        (items)[heap_at] = heap_item;                                                                                  \
    } while (0)

/* The item at `place` goes up to where nothing above is after it. */
#define HEAP_RISE(items, place, before)                                                                                \
    do {                                                                                                               \
        size_t heap_at = (place);                                                                                      \
        __typeof__(*(items)) heap_item = (items)[heap_at];                                                             \
        for (; heap_at && before(heap_item, (items)[(heap_at - 1) / 2]); heap_at = (heap_at - 1) / 2)                  \
            (items)[heap_at] = (items)[(heap_at - 1) / 2];                                                             \
        (items)[heap_at] = heap_item;                                                                                  \
    } while (0)
