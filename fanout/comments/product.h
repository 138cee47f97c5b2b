/* Comments as a screen: what happens under the subjects that the phone shows, as it comes (docs/PROTOCOL.md, "Comments, live"). */
#ifndef FANOUT_COMMENTS_PRODUCT_H
#define FANOUT_COMMENTS_PRODUCT_H

#include "fanout/screen.h"

extern const struct screen COMMENTS_SCREEN;

#endif
