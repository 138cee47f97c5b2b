/* The one file of the core that knows the screens' folders. */
#include "fanout/screens.h"

const struct screen *const SCREENS[] = {&NEARBY_SCREEN,   &FEED_SCREEN,    &COMMENTS_SCREEN,
                                        &DISCOVER_SCREEN, &DEVICES_SCREEN, NULL};
const struct config_section *const SCREEN_SECTIONS[] = {&FEED_SCREEN_SECTION, &COMMENTS_SCREEN_SECTION,
                                                        &DISCOVER_SCREEN_SECTION, &DEVICES_SCREEN_SECTION, NULL};
