#include "history-sink/partition.h"

#include "base/clock.h"

struct sink_partition sink_partition_assigned(int32_t id, struct metric *lag) {
    return (struct sink_partition){
        .id = id,
        .state = PARTITION_LOOKING,
        .line = publish_line_new(),
        .waits_since = clock_wall_ms(),
        .lag = lag,
    };
}

void sink_partition_clear(struct sink_partition *partition) {
    segment_drop(partition->open);
    publish_line_free(partition->line);
    archive_list_clear(&partition->files);
}

void sink_partition_reset(struct sink_partition *partition, int64_t look_at_us) {
    int64_t oldest = sink_partition_oldest(partition, clock_wall_ms());
    sink_partition_clear(partition);
    *partition = (struct sink_partition){
        .id = partition->id,
        .number = partition->number + 1,
        .state = PARTITION_LOOKING,
        .line = publish_line_new(),
        .subscribed = partition->subscribed,
        .refused = partition->refused,
        .look_at_us = look_at_us,
        .waits_since = oldest,
        .lag = partition->lag,
    };
}

int64_t sink_partition_oldest(const struct sink_partition *partition, int64_t now) {
    int64_t oldest = now;
    if (partition->waits_since && partition->waits_since < oldest) oldest = partition->waits_since;
    if (partition->on_their_way && partition->oldest_on_way < oldest) oldest = partition->oldest_on_way;
    if (partition->open && segment_oldest(partition->open) < oldest) oldest = segment_oldest(partition->open);
    return oldest;
}
