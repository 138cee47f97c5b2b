#include "router/friend_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"

void friend_list_free(struct friend_list *list) {
    free(list->items);
    *list = (struct friend_list){.items = NULL, .count = 0, .capacity = 0};
}

void friend_list_reserve(struct friend_list *list, size_t count) {
    if (count <= list->capacity) return;
    size_t capacity = list->capacity ? list->capacity : 64;
    while (capacity < count) capacity *= 2;
    list->items = mem_resize(list->items, capacity, sizeof *list->items);
    list->capacity = capacity;
}

/* varint_get for what most steps of a list are, with ten million users or a hundred million: three bytes. */
static inline const uint8_t *step_get(const uint8_t *at, const uint8_t *end, uint64_t *step) {
    if (end - at < 4) return varint_get(at, end, step);
    uint32_t four = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    if ((four & 0x808080) != 0x8080) return varint_get(at, end, step);
    *step = (four & 0x7f) | (four >> 1 & 0x3f80) | (four >> 2 & 0x1fc000);
    return at + 3;
}

int friend_list_decode(struct friend_list *list, const uint8_t *bytes, size_t size) {
    const uint8_t *at = bytes, *end = bytes + size;
    uint64_t user = 0;
    size_t count = 0;
    list->count = 0;
    friend_list_reserve(list, size); // a friend takes a byte at least
    while (at < end) {
        uint64_t step;
        at = step_get(at, end, &step);
        if (!at || step > (uint64_t)INT64_MAX - user || (count && !step)) return -EBADMSG;
        user += step;
        list->items[count++] = (int64_t)user;
    }
    list->count = count;
    return 0;
}

size_t friend_list_count(const uint8_t *bytes, size_t size) {
    size_t count = 0;
    for (size_t i = 0; i < size; i++) count += bytes[i] < 0x80; // the last byte of each varint
    return count;
}

bool friend_list_holds(const uint8_t *bytes, size_t size, int64_t user) {
    const uint8_t *at = bytes, *end = bytes + size;
    uint64_t sum = 0, step;
    while (at < end) {
        at = varint_get(at, end, &step);
        if (!at) return false;
        sum += step;
        if (sum >= (uint64_t)user) return sum == (uint64_t)user;
    }
    return false;
}

bool friend_list_find(const struct friend_list *list, int64_t user, size_t *at) {
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle] < user)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return low < list->count && list->items[low] == user;
}

void friend_list_encode(struct buffer *out, const int64_t *items, size_t count) {
    uint8_t *begin = buffer_reserve(out, count * VARINT_MAX), *at = begin;
    int64_t before = 0;
    for (size_t i = 0; i < count; i++) {
        at = varint_put(at, (uint64_t)(items[i] - before));
        before = items[i];
    }
    buffer_commit(out, (size_t)(at - begin));
}
