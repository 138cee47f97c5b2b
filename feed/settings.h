/* The settings of starling-feed. */
#pragma once

#include "base/config.h"

struct feed_settings {
    const char *group_id;
    const char *notify_url, *notify_key; /* url "": nothing is pushed; key "": posts are not signed */
    int64_t push_max, backlog, inbox_max, following_max, hot_days, away_days;
    int64_t store_memory_mb, rebuild_after_h, commands_batch, inbox_memory_mb, inbox_write_s, readers_memory_mb;
    int64_t devices_silent_s;
};

extern const struct config_section FEED_SECTION;
