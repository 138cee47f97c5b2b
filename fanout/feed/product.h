/* The feed as a screen: new posts of whom the user follows, as they come (docs/PROTOCOL.md, "The feed, live"). */
#ifndef FANOUT_FEED_PRODUCT_H
#define FANOUT_FEED_PRODUCT_H

#include "fanout/screen.h"

extern const struct screen FEED_SCREEN;

#endif
