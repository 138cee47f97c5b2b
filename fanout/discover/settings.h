/* The section of strangers nearby in the edge's configuration. */
#ifndef FANOUT_DISCOVER_SETTINGS_H
#define FANOUT_DISCOVER_SETTINGS_H

#include "base/config.h"

struct discover_screen_settings {
    const char *routers;
};

extern const struct config_section DISCOVER_SCREEN_SECTION; /* values: struct discover_screen_settings */

#endif
