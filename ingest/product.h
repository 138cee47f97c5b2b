/* A product's part of the gateway: its endpoints, what they need, and its state. The gateway itself (server, routing, tokens, writes,
 * questions to owners, metrics) knows no product; ingest/products.c lists those that there are. Loop's thread. */
#pragma once

#include "ingest/endpoints.h"
#include "ingest/write.h"
#include "service/service.h"
#include "users/user_copies.h"

/* Consumer groups of processes that several products ask. */
struct product_groups {
    const char *routers, *feeds, *comments, *places, *moderators, *sinks;
};

/* The gateway gives this to a product. The service, the endpoints and the copies outlive its state; the writer goes before stop. */
struct product_options {
    struct service *service;
    const struct topics_shape *shape;
    struct writer *writer;
    struct user_copies *copies; /* profiles and sharing, read by the gateway for all products */
    int64_t outcome_wait_ms;    /* how long the answer to a command waits for its outcome before it is 202 */
    struct product_groups groups;
    struct text_filter *filter;
    struct endpoints *endpoints; /* start adds the product's endpoints */
    void *gateway;
    void (*blocks_changed)(void *gateway, int64_t user); /* tells all products */
};

struct product {
    int (*start)(const struct product_options *options, void **state, struct error *error);
    /* The gateway ends: the writes have been told their fate, and requests that still wait for something are answered now. NULL is
     * fine, for both. */
    void (*stop)(void *state);
    bool (*busy)(void *state); /* service_definition's; NULL: it has no threads */
    void (*free)(void *state); /* the server is gone */
    /* The copies have read a change of a user's sharing, after they were ready. NULL: not wanted. */
    void (*sharing)(void *state, int64_t user);
    void (*profile)(void *state, int64_t user); /* the same of a user's profile */
    /* Names what cannot be served now, because nobody owns a part of it. NULL: all of the product needs the gateway alone. */
    void (*cannot_serve)(void *state, service_namer *name, void *context);
    void (*blocks)(void *state, int64_t user); /* a user has blocked somebody through this gateway, or has ended that */
};
