#include "adjacency/id_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/sorted.h"

void id_list_free(struct id_list *list) {
    free(list->items);
    *list = (struct id_list){.items = NULL, .count = 0, .capacity = 0};
}

void id_list_reserve(struct id_list *list, size_t count) {
    if (count <= list->capacity) return;
    size_t capacity = list->capacity ? list->capacity : 64;
    while (capacity < count) capacity *= 2;
    list->items = mem_resize(list->items, capacity, sizeof *list->items);
    list->capacity = capacity;
}

/* varint_get for what most steps of a list are, with ten million ids or a hundred million: three bytes. */
static inline const uint8_t *step_get(const uint8_t *at, const uint8_t *end, uint64_t *step) {
    if (end - at < 4) return varint_get(at, end, step);
    uint32_t four = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    if ((four & 0x808080) != 0x8080) return varint_get(at, end, step);
    *step = (four & 0x7f) | (four >> 1 & 0x3f80) | (four >> 2 & 0x1fc000);
    return at + 3;
}

int id_list_decode_more(struct id_list *list, const uint8_t *bytes, size_t size) {
    const uint8_t *at = bytes, *end = bytes + size;
    id_list_reserve(list, list->count + size); // an id takes a byte at least
    size_t first = list->count, count = first;
    int64_t *items = list->items, last = first ? items[first - 1] : -1;
    uint64_t id = 0;
    list->count = 0;
    while (at < end) {
        uint64_t step;
        at = step_get(at, end, &step);
        if (!at || step > (uint64_t)INT64_MAX - id || (count > first && !step)) return -EBADMSG;
        id += step;
        items[count++] = (int64_t)id;
    }
    if (count > first && items[first] <= last) return -EBADMSG;
    list->count = count;
    return 0;
}

int id_list_decode(struct id_list *list, const uint8_t *bytes, size_t size) {
    list->count = 0;
    return id_list_decode_more(list, bytes, size);
}

size_t id_list_count(const uint8_t *bytes, size_t size) {
    size_t count = 0;
    for (size_t i = 0; i < size; i++) count += bytes[i] < 0x80; // the last byte of each varint
    return count;
}

bool id_list_holds(const uint8_t *bytes, size_t size, int64_t id) {
    const uint8_t *at = bytes, *end = bytes + size;
    uint64_t sum = 0, step;
    while (at < end) {
        at = varint_get(at, end, &step);
        if (!at) return false;
        sum += step;
        if (sum >= (uint64_t)id) return sum == (uint64_t)id;
    }
    return false;
}

bool id_list_find(const struct id_list *list, int64_t id, size_t *at) {
    *at = sorted_below(list->items, list->count, id);
    return *at < list->count && list->items[*at] == id;
}

void id_list_encode(struct buffer *out, const int64_t *items, size_t count) {
    uint8_t *begin = buffer_reserve(out, count * VARINT_MAX), *at = begin;
    int64_t before = 0;
    for (size_t i = 0; i < count; i++) {
        at = varint_put(at, (uint64_t)(items[i] - before));
        before = items[i];
    }
    buffer_commit(out, (size_t)(at - begin));
}
