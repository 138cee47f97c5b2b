/* Which screens there are. */
#ifndef FANOUT_SCREENS_H
#define FANOUT_SCREENS_H

#include "fanout/screen.h"

extern const struct screen *const SCREENS[]; /* NULL behind the last; at most SCREENS_MAX (screen_set.h) */
extern const struct config_section *const SCREEN_SECTIONS[]; /* of the configuration; NULL behind the last */

#endif
