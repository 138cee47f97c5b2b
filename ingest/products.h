/* The products that this gateway serves, and what they need of the daemon. */
#ifndef INGEST_PRODUCTS_H
#define INGEST_PRODUCTS_H

#include "ingest/product.h"

enum { PRODUCTS_COUNT = 5 };
extern const struct product *const PRODUCTS[PRODUCTS_COUNT];

extern const struct config_section *const PRODUCT_SECTIONS[]; /* NULL-terminated */
/* As the settings name them; only once these are read. */
struct product_groups product_groups(void);

extern const char *const PRODUCT_CONDITIONS[]; /* NULL-terminated, with the gateway's own */

#endif
