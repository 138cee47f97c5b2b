#include "kafka/positions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { PARTITION_MAX = 1 << 20 }; /* far beyond any cluster: a larger number is an error of the caller */

void positions_clear(struct positions *positions) {
    for (size_t t = 0; t < positions->count; t++) free(positions->topics[t].items);
    positions->count = 0;
}

struct place *positions_find(const struct positions *positions, const struct topic *topic, int32_t partition) {
    for (size_t t = 0; t < positions->count; t++) {
        if (positions->topics[t].topic != topic) continue;
        return partition >= 0 && partition < positions->topics[t].count ? &positions->topics[t].items[partition] : NULL;
    }
    return NULL;
}

static struct place *make(struct positions *positions, const struct topic *topic, int32_t partition) {
    size_t t = 0;
    while (t < positions->count && positions->topics[t].topic != topic) t++;
    if (t == positions->count) {
        positions->topics[t].topic = topic;
        positions->topics[t].items = NULL;
        positions->topics[t].count = 0;
        positions->count++;
    }
    int32_t count = positions->topics[t].count;
    if (partition >= count) {
        int32_t grown = partition + 1;
        struct place *items = mem_resize(positions->topics[t].items, (size_t)grown, sizeof *items);
        for (int32_t i = count; i < grown; i++)
            items[i] = (struct place){.next = KAFKA_OFFSET_NONE, .reading = false, .paused = false};
        positions->topics[t].items = items;
        positions->topics[t].count = grown;
    }
    return &positions->topics[t].items[partition];
}

static int by_partition(const void *a, const void *b) {
    const struct kafka_position *x = a, *y = b;
    if (x->topic != y->topic) return (uintptr_t)x->topic < (uintptr_t)y->topic ? -1 : 1;
    return (x->partition > y->partition) - (x->partition < y->partition);
}

static int check(const struct kafka_position *list, size_t count, struct error *error) {
    for (size_t i = 0; i < count; i++) {
        const struct kafka_position *p = &list[i];
        if (p->partition < 0 || p->partition >= PARTITION_MAX)
            return error_set(error, -EINVAL, "no such partition: %s/%d", p->topic->name, p->partition);
        if (p->offset < 0 && p->offset != KAFKA_OFFSET_BEGINNING && p->offset != KAFKA_OFFSET_END) {
            return error_set(error, -EINVAL, "%s/%d cannot be read from offset %lld", p->topic->name, p->partition,
                             (long long)p->offset);
        }
    }
    if (count < 2) return 0;
    struct kafka_position *sorted = mem_alloc(count * sizeof *sorted);
    memcpy(sorted, list, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_partition);
    int code = 0;
    for (size_t i = 1; !code && i < count; i++) {
        if (by_partition(&sorted[i - 1], &sorted[i])) continue;
        code = error_set(error, -EINVAL, "%s/%d is named twice", sorted[i].topic->name, sorted[i].partition);
    }
    free(sorted);
    return code;
}

int positions_read(struct positions *positions, const struct kafka_position *list, size_t count, bool replace,
                   struct error *error) {
    int code = check(list, count, error);
    for (size_t i = 0; !code && !replace && i < count; i++) {
        const struct place *place = positions_find(positions, list[i].topic, list[i].partition);
        if (!place || !place->reading) continue;
        code = error_set(error, -EINVAL, "%s/%d is read already", list[i].topic->name, list[i].partition);
    }
    if (code) return code;
    if (replace) positions_stop(positions);
    for (size_t i = 0; i < count; i++) {
        struct place *place = make(positions, list[i].topic, list[i].partition);
        *place = (struct place){.next = list[i].offset, .reading = true, .paused = false, .stalled = place->stalled};
    }
    return 0;
}

static void stop(void *context, const struct kafka_position *position, struct place *place) {
    place->reading = place->paused = false;
}

void positions_stop(struct positions *positions) { positions_each(positions, stop, NULL); }

static void count_one(void *context, const struct kafka_position *position, struct place *place) {
    ++*(size_t *)context;
}

size_t positions_reading(const struct positions *positions) {
    size_t count = 0;
    struct positions same = *positions; // the walk takes it writable; nothing is written
    positions_each(&same, count_one, &count);
    return count;
}

void positions_each(struct positions *positions,
                    void (*fn)(void *context, const struct kafka_position *position, struct place *place),
                    void *context) {
    for (size_t t = 0; t < positions->count; t++) {
        for (int32_t p = 0; p < positions->topics[t].count; p++) {
            struct place *place = &positions->topics[t].items[p];
            if (!place->reading) continue;
            struct kafka_position position = {
                .topic = positions->topics[t].topic, .partition = p, .offset = place->next};
            fn(context, &position, place);
        }
    }
}
