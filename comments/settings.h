/* The settings of starling-comments. */
#pragma once

#include "base/config.h"

struct comments_settings {
    const char *group_id;
    int64_t store_memory_mb, rebuild_after_h, commands_batch, live_max, user_rate, user_burst;
};

extern const struct config_section COMMENTS_SECTION;
