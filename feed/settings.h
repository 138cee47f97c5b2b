/* The settings of starling-feed. */
#ifndef FEED_SETTINGS_H
#define FEED_SETTINGS_H

#include "base/config.h"

struct feed_settings {
    const char *group_id;
    const char *checkpoint_dir;
    int64_t checkpoint_every_s, checkpoint_keep;
    int64_t push_max, backlog, inbox_max, following_max, hot_days, away_days;
    int64_t store_memory_mb, rebuild_after_h, standby_replicas, batch_records, commands_batch;
    int64_t outbox_flush_bytes, outbox_flush_ms, outbox_queue_mb, inbox_memory_mb, inbox_write_s;
    bool stop_hands_over;
};

extern const struct config_section FEED_SECTION;

#endif
