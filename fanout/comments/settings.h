/* The section of live threads in the edge's configuration. */
#ifndef FANOUT_COMMENTS_SETTINGS_H
#define FANOUT_COMMENTS_SETTINGS_H

#include "base/config.h"

struct comments_screen_settings {
    int64_t subjects, replay_kb;
};

extern const struct config_section COMMENTS_SCREEN_SECTION; /* values: struct comments_screen_settings */

#endif
