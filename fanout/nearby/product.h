/* The nearby screen: which of the user's friends are near, live. */
#ifndef FANOUT_NEARBY_PRODUCT_H
#define FANOUT_NEARBY_PRODUCT_H

#include "fanout/screen.h"

extern const struct screen NEARBY_SCREEN;

#endif
