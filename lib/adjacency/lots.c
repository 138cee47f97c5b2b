#include "adjacency/lots.h"

#include <stdlib.h>

#include "base/mem.h"

struct lots_part {
    size_t count;
    int64_t since_us; /* of the first; where there is one */
};

struct lots {
    struct lots_part *parts;
    int32_t partitions;
    size_t full;              /* records that do not wait for more */
    size_t total, fresh;      /* fresh: since lots_added */
    int64_t period_us;        /* when the period at hand began; one is as long as a lot may wait */
    size_t came, came_before; /* records in it, and in the one before */
    bool bulk;
};

struct lots *lots_new(int32_t partitions) {
    struct lots *lots = MEM_NEW(&(struct lots){
        .parts = mem_zero((size_t)partitions, sizeof *lots->parts), .partitions = partitions, .full = LOTS_FULL});
    return lots;
}

void lots_free(struct lots *lots) {
    if (!lots) return;
    free(lots->parts);
    free(lots);
}

void lots_add(struct lots *lots, int32_t partition, int64_t now_us) {
    struct lots_part *part = &lots->parts[partition];
    if (!part->count++) part->since_us = now_us;
    lots->total++;
    lots->fresh++;
}

static void count_fresh(struct lots *lots, int64_t now_us) {
    if (now_us - lots->period_us >= LOTS_HOLD_US) {
        lots->came_before = now_us - lots->period_us < 2 * LOTS_HOLD_US ? lots->came : 0;
        lots->came = 0;
        lots->period_us = now_us;
    }
    lots->came += lots->fresh;
}

/* Records behind bulk wait with it. But a trickle alone, of which some record always waits, must not count as bulk for ever. */
void lots_added(struct lots *lots, int64_t now_us) {
    count_fresh(lots, now_us);
    bool much = lots->total >= LOTS_MANY || lots->came + lots->came_before >= LOTS_MANY;
    lots->bulk = lots->fresh >= LOTS_MANY || (lots->total > lots->fresh && much);
    lots->fresh = 0;
}

void lots_remove(struct lots *lots, int32_t partition) {
    lots->total -= lots->parts[partition].count;
    if (lots->fresh > lots->total) lots->fresh = lots->total;
    lots->parts[partition].count = 0;
}

bool lots_waits(const struct lots *lots, int32_t partition) { return lots->parts[partition].count; }

void lots_set_full(struct lots *lots, size_t records) { lots->full = records; }

static bool too_many(const struct lots *lots) { return lots->total > LOTS_MOST; }

static int64_t left_us(const struct lots *lots, const struct lots_part *part, int64_t now_us) {
    if (!lots->bulk || part->count >= lots->full) return 0;
    int64_t left = part->since_us + LOTS_HOLD_US - now_us;
    return left > 0 ? left : 0;
}

int32_t lots_due(const struct lots *lots, int64_t now_us) {
    int32_t due = -1;
    for (int32_t p = 0; p < lots->partitions; p++) {
        const struct lots_part *part = &lots->parts[p];
        if (!part->count || (!too_many(lots) && left_us(lots, part, now_us))) continue;
        const struct lots_part *best = due < 0 ? NULL : &lots->parts[due];
        bool better = !best || (too_many(lots) ? part->count > best->count : part->since_us < best->since_us);
        if (better) due = p;
    }
    return due;
}

bool lots_may_wait(const struct lots *lots) { return lots->bulk && !too_many(lots); }

int64_t lots_wait_ms(const struct lots *lots, int64_t now_us) {
    int64_t least = -1;
    for (int32_t p = 0; p < lots->partitions; p++) {
        const struct lots_part *part = &lots->parts[p];
        if (!part->count) continue;
        int64_t left = left_us(lots, part, now_us);
        if (least < 0 || left < least) least = left;
    }
    return least < 0 ? -1 : (least + 999) / 1000;
}
