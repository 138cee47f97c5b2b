#include "cli/merging.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct held {
    struct held *next;
    struct kafka_record record; /* points into bytes */
    uint8_t bytes[];
};

struct lane {
    struct held *first, **last;
    size_t count;
    bool ended;
};

struct merging {
    struct lane *lanes;
    size_t count;
};

struct merging *merging_new(size_t lanes) {
    struct merging *merging = mem_alloc(sizeof *merging);
    *merging = (struct merging){.lanes = mem_zero(lanes ? lanes : 1, sizeof *merging->lanes), .count = lanes};
    for (size_t i = 0; i < lanes; i++) merging->lanes[i].last = &merging->lanes[i].first;
    return merging;
}

void merging_free(struct merging *merging) {
    if (!merging) return;
    for (size_t i = 0; i < merging->count; i++)
        while (merging->lanes[i].first) merging_next(merging, i);
    free(merging->lanes);
    free(merging);
}

void merging_put(struct merging *merging, size_t number, const struct kafka_record *record) {
    struct lane *lane = &merging->lanes[number];
    struct held *held = mem_alloc(sizeof *held + record->key_size + record->value_size);
    *held = (struct held){.record = *record};
    held->record.message = NULL;
    if (record->key) held->record.key = memcpy(held->bytes, record->key, record->key_size);
    if (record->value) held->record.value = memcpy(held->bytes + record->key_size, record->value, record->value_size);
    *lane->last = held;
    lane->last = &held->next;
    lane->count++;
}

void merging_end(struct merging *merging, size_t lane) { merging->lanes[lane].ended = true; }

size_t merging_waiting(const struct merging *merging, size_t lane) { return merging->lanes[lane].count; }

const struct kafka_record *merging_first(const struct merging *merging, size_t *lane) {
    const struct kafka_record *first = NULL;
    for (size_t i = 0; i < merging->count; i++) {
        const struct lane *at = &merging->lanes[i];
        if (!at->first && !at->ended) return NULL;
        if (!at->first || (first && first->timestamp <= at->first->record.timestamp)) continue;
        first = &at->first->record;
        *lane = i;
    }
    return first;
}

void merging_next(struct merging *merging, size_t number) {
    struct lane *lane = &merging->lanes[number];
    struct held *held = lane->first;
    lane->first = held->next;
    if (!lane->first) lane->last = &lane->first;
    lane->count--;
    free(held);
}

bool merging_over(const struct merging *merging) {
    for (size_t i = 0; i < merging->count; i++)
        if (merging->lanes[i].first || !merging->lanes[i].ended) return false;
    return true;
}
