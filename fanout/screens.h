/* Which screens there are, and their sections of the edge's configuration. */
#pragma once

#include "fanout/screen.h"

/* The nearby screen: which of the user's friends are near, live. */
extern const struct screen NEARBY_SCREEN;
/* The feed as a screen: new posts of whom the user follows, as they come (docs/PROTOCOL.md, "The feed, live"). */
extern const struct screen FEED_SCREEN;
/* Comments as a screen: what happens under the subjects that the phone shows, as it comes (docs/PROTOCOL.md, "Comments, live"). */
extern const struct screen COMMENTS_SCREEN;
/* The screen of strangers nearby: a phone asks for a page, and is told at once when one of those whom it was shown stops sharing
 * publicly. The router decides what is shown, and how often: the one that owns the user, as over HTTP (docs/EXACTNESS.md, rule 10). */
extern const struct screen DISCOVER_SCREEN;
/* Devices: where users are signed in, and the ends of sessions that they have asked for. It shows a phone nothing. */
extern const struct screen DEVICES_SCREEN;

/* The values of FEED_SCREEN_SECTION. */
struct feed_screen_settings {
    const char *group; /* also asked who may see the post that comments are about */
    int64_t texts, texts_s;
};

extern const struct config_section FEED_SCREEN_SECTION, COMMENTS_SCREEN_SECTION, DISCOVER_SCREEN_SECTION,
    DEVICES_SCREEN_SECTION;

extern const struct screen *const SCREENS[]; /* NULL behind the last; at most SCREENS_MAX (screen_set.h) */
extern const struct config_section *const SCREEN_SECTIONS[]; /* of the configuration; NULL behind the last */
