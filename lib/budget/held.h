/* Budgets of what is held: how many units (connections, bytes) each of many keys has at once, and all keys together. The metrics say
 * what the limits are (where there are any), how much is held, and how often a limit refused. A key that holds nothing takes no memory. One
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/metrics.h"

struct held;

struct held_options {
    struct metrics *metrics; /* starling_budget_..., see tally.h */
    const char *what;        /* the unit: "connections", "body_bytes"; a literal */
    const char *by;          /* the keys: "user", "network"; a literal */
    int64_t each;            /* units of one key; 0: no limit */
    int64_t in_all;          /* units of all keys together; 0: no limit */
    bool
        leaves_room; /* a key may hold no more than is then still free: however many keys hold what they can get, a new one finds
                              * as much as each of them has */
};

struct held *held_new(const struct held_options *options);
void held_free(struct held *held); /* NULL is fine */

/* True: the key holds so many units more, until held_give. False: that would be too much, and nothing has changed. */
bool held_take(struct held *held, uint64_t key, int64_t amount);
void held_give(struct held *held, uint64_t key, int64_t amount); /* at most what the key holds */

int64_t held_by(const struct held *held, uint64_t key);
int64_t held_in_all(const struct held *held);
