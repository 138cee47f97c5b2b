#include "cli/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct lane_record {
    struct lane_record *next;
    struct kafka_record record; /* points into bytes */
    uint8_t bytes[];
};

struct record_lane {
    struct lane_record *first, **last;
    size_t count;
    bool ended;
};

struct lanes {
    struct record_lane *lanes;
    size_t count;
};

struct lanes *lanes_new(size_t count) {
    struct lanes *lanes =
        MEM_NEW(&(struct lanes){.lanes = mem_zero(count ? count : 1, sizeof *lanes->lanes), .count = count});
    for (size_t i = 0; i < count; i++) lanes->lanes[i].last = &lanes->lanes[i].first;
    return lanes;
}

void lanes_free(struct lanes *lanes) {
    if (!lanes) return;
    for (size_t i = 0; i < lanes->count; i++)
        while (lanes->lanes[i].first) lanes_next(lanes, i);
    free(lanes->lanes);
    free(lanes);
}

void lanes_put(struct lanes *lanes, size_t number, const struct kafka_record *record) {
    struct record_lane *lane = &lanes->lanes[number];
    struct lane_record *held = mem_alloc(sizeof *held + record->key_size + record->value_size);
    *held = (struct lane_record){.record = *record};
    held->record.message = NULL;
    if (record->key) held->record.key = memcpy(held->bytes, record->key, record->key_size);
    if (record->value) held->record.value = memcpy(held->bytes + record->key_size, record->value, record->value_size);
    *lane->last = held;
    lane->last = &held->next;
    lane->count++;
}

void lanes_end(struct lanes *lanes, size_t lane) { lanes->lanes[lane].ended = true; }

size_t lanes_waiting(const struct lanes *lanes, size_t lane) { return lanes->lanes[lane].count; }

const struct kafka_record *lanes_first(const struct lanes *lanes, size_t *lane) {
    const struct kafka_record *first = NULL;
    for (size_t i = 0; i < lanes->count; i++) {
        const struct record_lane *at = &lanes->lanes[i];
        if (!at->first && !at->ended) return NULL;
        if (!at->first || (first && first->timestamp <= at->first->record.timestamp)) continue;
        first = &at->first->record;
        *lane = i;
    }
    return first;
}

void lanes_next(struct lanes *lanes, size_t number) {
    struct record_lane *lane = &lanes->lanes[number];
    struct lane_record *held = lane->first;
    lane->first = held->next;
    if (!lane->first) lane->last = &lane->first;
    lane->count--;
    free(held);
}

bool lanes_over(const struct lanes *lanes) {
    for (size_t i = 0; i < lanes->count; i++)
        if (lanes->lanes[i].first || !lanes->lanes[i].ended) return false;
    return true;
}
