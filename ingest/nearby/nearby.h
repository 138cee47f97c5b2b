/* Nearby friends in the gateway: reports, profiles, sharing, friendships, strangers nearby, history, and the page's settings. */
#ifndef INGEST_NEARBY_NEARBY_H
#define INGEST_NEARBY_NEARBY_H

#include "ingest/product.h"

extern const struct product NEARBY_PRODUCT;

#endif
