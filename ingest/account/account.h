/* The endpoints about a user's account as a whole: the export of everything that is kept of the user, and forgetting it. */
#ifndef INGEST_ACCOUNT_ACCOUNT_H
#define INGEST_ACCOUNT_ACCOUNT_H

#include "ingest/product.h"

extern const struct product ACCOUNT_PRODUCT;

#endif
