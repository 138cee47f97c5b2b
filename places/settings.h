/* The settings of starling-places. */
#pragma once

#include "base/config.h"

struct places_settings {
    const char *group_id;
    int64_t store_memory_mb, rebuild_after_h, commands_batch, cover_s, ahead_s;
};

extern const struct config_section PLACES_SECTION;
