/* Searching in sorted numbers, and in items sorted by a number. Pure; any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The order of numbers, and of items that begin with one, an int64_t: for qsort and bsearch. */
static inline int sorted_order(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* How many of the rising numbers are below `number`: the place where it is or would be. */
static inline size_t sorted_below(const int64_t *numbers, size_t count, int64_t number) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same for items of one size that begin with their id, an int64_t, and stand in its order. */
static inline size_t sorted_items_below(const void *items, size_t size, size_t count, int64_t id) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (*(const int64_t *)(const void *)((const char *)items + middle * size) < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
