#include "ids/ids.h"

#include "base/text.h"

enum { TICK_SHIFT = IDS_FRACTION_BITS + IDS_PARTITION_BITS };
#define FRACTION_MASK ((INT64_C(1) << IDS_FRACTION_BITS) - 1)
#define PARTITION_MASK ((INT64_C(1) << IDS_PARTITION_BITS) - 1)
#define MS_MAX ((INT64_C(1) << 41) - 1)

int64_t ids_tick(int64_t append_ms, int64_t offset, int64_t last) {
    int64_t ms = append_ms > IDS_EPOCH_MS ? append_ms - IDS_EPOCH_MS : 0;
    if (ms > MS_MAX) ms = MS_MAX;
    int64_t tick = ms << IDS_FRACTION_BITS | (offset & FRACTION_MASK);
    if (last < 0) last = 0; // tick 0 of partition 0 would be the id 0
    return tick > last ? tick : last + 1;
}

int64_t ids_make(int64_t tick, int32_t partition) {
    return tick >> IDS_FRACTION_BITS << TICK_SHIFT | (int64_t)partition << IDS_FRACTION_BITS | (tick & FRACTION_MASK);
}

int64_t ids_tick_of(int64_t id) { return id >> TICK_SHIFT << IDS_FRACTION_BITS | (id & FRACTION_MASK); }

int32_t ids_partition(int64_t id) { return (int32_t)(id >> IDS_FRACTION_BITS & PARTITION_MASK); }

int64_t ids_time_ms(int64_t id) { return (id >> TICK_SHIFT) + IDS_EPOCH_MS; }

int64_t ids_first_at(int64_t time_ms) {
    if (time_ms <= IDS_EPOCH_MS) return 0;
    return time_ms - IDS_EPOCH_MS > MS_MAX ? INT64_MAX : (time_ms - IDS_EPOCH_MS) << TICK_SHIFT;
}

bool ids_parse(const char *text, size_t size, int64_t *id) {
    return size && text[0] != '0' && text_number(text, size, INT64_MAX, id);
}
