/* The live feed's section of the edge's configuration. */
#ifndef FANOUT_FEED_SETTINGS_H
#define FANOUT_FEED_SETTINGS_H

#include "base/config.h"

struct feed_screen_settings {
    const char *group;
    int64_t texts, texts_s;
};

extern const struct config_section FEED_SCREEN_SECTION; /* values: struct feed_screen_settings */

#endif
