/* Tells edges the result of a join, as nearby-items in envelopes of the outbox. Pure except for the outbox. */
#pragma once

#include "deliver/deliver.h"
#include "event/records.h"
#include "router/join.h"

/* One item for one recipient behind a route. received, now_us: as deliver_put. */
void telling_put(struct deliver *outbox, int32_t route, int64_t recipient, const struct nearby_item *item,
                 int64_t received, int64_t now_us);

/* A Move, RoundedMove or Left for many. */
void telling_put_many(struct deliver *outbox, const struct nearby_item *item,
                      const struct deliver_recipient *recipients, size_t count, int64_t received, int64_t now_us);

/* Everything that a join found, in the order in which an edge must hear it. Returns the number of deliveries (recipients). */
size_t telling_result(struct deliver *outbox, const struct join_result *result, int64_t received, int64_t now_us);

/* The user, whose sessions are behind these routes, and the friend are no longer friends. */
void telling_parted(struct deliver *outbox, const int32_t *routes, size_t count, int64_t user, int64_t friend,
                    int64_t now_us);
