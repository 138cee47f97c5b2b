/* A product's part of the gateway: its endpoints, what they need, and its state. The gateway itself (server, routing, tokens, writes,
 * questions to owners, metrics) knows no product; ingest/products.c lists those that there are. Loop's thread. */
#ifndef INGEST_PRODUCT_H
#define INGEST_PRODUCT_H

#include "ingest/endpoints.h"
#include "ingest/write.h"
#include "service/service.h"

/* The gateway gives this to a product. The service and the endpoints outlive its state; the writer goes before stop. */
struct product_options {
    struct service *service;
    const struct topics_shape *shape;
    struct writer *writer;
    struct endpoints *endpoints; /* start adds the product's endpoints */
};

struct product {
    int (*start)(const struct product_options *options, void **state, struct error *error);
    /* The gateway ends: the writes have been told their fate, and requests that still wait for something are answered now. NULL is
     * fine, for both. */
    void (*stop)(void *state);
    void (*free)(void *state); /* the server is gone */
};

#endif
