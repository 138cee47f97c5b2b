#include "feed/refusals.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"

struct refused {
    int64_t command, time_ms;
    enum follow_refusal_reason reason;
};

struct refusals_part {
    struct refused *items; /* from `first` on, `count` of them */
    size_t first, count, capacity;
    int64_t next;
};

struct refusals {
    int32_t partitions;
    struct refusals_part *parts;
    struct codec *codec;
};

struct refusals *refusals_new(int32_t partitions) {
    struct refusals *refusals =
        MEM_NEW(&(struct refusals){.partitions = partitions,
                                   .parts = mem_zero((size_t)partitions, sizeof *refusals->parts),
                                   .codec = codec_new()});
    for (int32_t p = 0; p < partitions; p++) refusals->parts[p].next = -1;
    return refusals;
}

void refusals_free(struct refusals *refusals) {
    if (!refusals) return;
    for (int32_t p = 0; p < refusals->partitions; p++) free(refusals->parts[p].items);
    free(refusals->parts);
    codec_free(refusals->codec);
    free(refusals);
}

void refusals_close(void *store, int32_t partition) {
    struct refusals *refusals = store;
    free(refusals->parts[partition].items);
    refusals->parts[partition] = (struct refusals_part){.next = -1};
}

void refusals_take(struct refusals *refusals, int32_t partition, int64_t offset, int64_t time_ms,
                   const struct follow_refusal *refusal) {
    struct refusals_part *part = &refusals->parts[partition];
    if (offset < part->next) return;
    part->next = offset + 1;
    MEM_ROOM_BEHIND(part->items, part->first, part->count, part->capacity);
    part->items[part->first + part->count++] =
        (struct refused){.command = refusal->command, .time_ms = time_ms, .reason = refusal->reason};
}

int64_t refusals_next(const void *refusals, int32_t partition, size_t topic) {
    return ((const struct refusals *)refusals)->parts[partition].next;
}

bool refusals_find(const struct refusals *refusals, int32_t partition, int64_t command,
                   enum follow_refusal_reason *reason) {
    const struct refusals_part *part = &refusals->parts[partition];
    if (!part->count) return false;
    const struct refused *found =
        bsearch(&command, part->items + part->first, part->count, sizeof *part->items, sorted_order);
    if (found) *reason = found->reason;
    return found;
}

void refusals_forget(struct refusals *refusals, int64_t now_ms) {
    for (int32_t p = 0; p < refusals->partitions; p++) {
        struct refusals_part *part = &refusals->parts[p];
        while (part->count && now_ms - part->items[part->first].time_ms > REFUSALS_KEPT_MS) {
            part->first++;
            part->count--;
        }
    }
}

/* ---- the kind ---- */

static int take(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                struct error *error) {
    struct refusals *refusals = store;
    struct follow_refusal refusal;
    if (!record->value)
        *reason = "a refusal needs a value";
    else if (event_decode_follow_refusal(refusals->codec, record->value, record->value_size, &refusal, error))
        *reason = error->text;
    else if (refusal.author >= 0)
        refusals_take(refusals, record->partition, record->offset, record->timestamp, &refusal);
    return 0;
}

const struct state_kind REFUSALS_KIND = {
    .in_memory = true, .close = refusals_close, .take = take, .next = refusals_next};
