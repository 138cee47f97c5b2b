/* Shared by joiner.c (the parts in time, and for others), joiner_parts.c (makes them) and product.c (the owner's callbacks). */
#ifndef ROUTER_JOINER_PRIVATE_H
#define ROUTER_JOINER_PRIVATE_H

#include "owner/owner.h"
#include "owner/warmup.h"
#include "router/joiner.h"
#include "router/relations.h"
#include "router/reports.h"

struct discover;
struct notifying;
struct peer;

/* The numbers of what the owner reads, by role: product.c has the table. */
enum { INPUT_LOCATIONS = 0 };
enum { STATE_FRIENDSHIPS, STATE_SHARING };

struct joiner {
    struct joiner_options options;
    const struct router_settings *settings;
    const struct owner_settings *owning;
    const struct service_settings *common;
    struct router_metrics metrics;

    struct presence *presence;
    struct report_clock *clock;
    struct epochs *epochs;
    struct deliver *outbox;
    struct sending *sending;
    struct cap *cap;
    struct opting *opting;
    struct commands *commands;
    struct relations *relations;
    struct reports *reports;
    struct discover *discover;
    struct notifying *notifying; /* NULL: nobody is notified */
    struct warmup *warmup;
    struct owner *owner;
    struct near_pages *near;
    struct peer *peer;
    bool draining;
};

/* Something failed so that the process must end. */
void joiner_fail(struct joiner *joiner, const char *doing, const struct error *error);

/* ---- joiner_parts.c ---- */

/* Makes all parts, connects them, and begins to read. When it fails, joiner_free_parts frees those that are there. */
int joiner_make_parts(struct joiner *joiner, struct error *error);
void joiner_free_parts(struct joiner *joiner);

/* ---- product.c ---- */

bool joiner_workers_busy(const struct joiner *joiner);
extern const struct owner_product JOINER_PRODUCT;
extern const struct owner_topic JOINER_TOPICS[];
extern const size_t JOINER_TOPIC_COUNT;

#endif
