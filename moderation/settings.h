/* The section of the configuration that starling-moderation has for itself. */
#ifndef MODERATION_SETTINGS_H
#define MODERATION_SETTINGS_H

#include "base/config.h"

struct moderation_settings {
    const char *group;
    int64_t cache_mb, readers, search_ms;
};

/* Filled by the configuration before the daemon starts, which takes a copy. */
extern const struct config_section MODERATION_SECTION;

#endif
