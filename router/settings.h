/* The router's own settings. */
#pragma once

#include "base/config.h"

struct router_settings {
    const char *group_id;
    int64_t friends_cap;
    int64_t friends_rebuild_after_h;
    int64_t store_memory_mb;
    int64_t warm_first_s;
    int64_t max_lag_s;
    int64_t clock_wall_max_ahead_s, clock_stream_max_jump_s;
    int64_t commands_batch;
    int64_t joins_rate, joins_burst;
    int64_t outbox_flush_behind_ms;
    int64_t discover_precision, discover_max, discover_delay_s;
    int64_t discover_rate, discover_burst;
    bool notify_approaches;
    int64_t notify_pause_s;
    int64_t rounded_precision;
};

/* The section, and the one instance of the values that the process's configuration fills. */
extern const struct config_section ROUTER_SECTION;
