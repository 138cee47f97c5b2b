/* The screen of strangers nearby: a phone asks for a page, and is told at once when one of those whom it was shown stops sharing
 * publicly. The router decides what is shown, and how often: the one that owns the user, as over HTTP (docs/EXACTNESS.md, rule 10). */
#ifndef FANOUT_DISCOVER_PRODUCT_H
#define FANOUT_DISCOVER_PRODUCT_H

#include "fanout/screen.h"

extern const struct screen DISCOVER_SCREEN;

#endif
