/* Budgets of work: how much each of many keys (users, networks) may have done. A key that has rested may take a burst at once, and then
 * so many units a second. The metrics say what the limit is and how often it refused. A key that has rested for the burst's time is
 * forgotten when the table has doubled. When the table is full all the same, newcomers share what one of them would have. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/metrics.h"

enum { RATES_MAX = 1 << 18 /* keys that are known at once; 16 bytes each, and room to grow */ };

struct rates;

struct rates_options {
    struct metrics *metrics; /* starling_budget_..., see tally.h */
    const char *what;        /* the unit: "requests", "bytes"; a literal */
    const char *by;          /* the keys: "user", "network", "process"; a literal */
    int64_t per_second;      /* 0: there is no limit. At most a billion */
    int64_t burst;           /* units; at least 1 */
};

struct rates *rates_new(const struct rates_options *options);
void rates_free(struct rates *rates); /* NULL is fine */

/* 0: the key may take so many units, and they are counted. Else nothing counts, and the key may take them after so many seconds. An
 * amount beyond the burst is allowed to a key that has rested, which then waits until it is paid off. now_ms never falls. */
int rates_take(struct rates *rates, uint64_t key, int64_t amount, int64_t now_ms);

/* The seconds after which the key may take a unit; 0: at once. Counts nothing, and a key that is not known takes no memory. */
int rates_owing(const struct rates *rates, uint64_t key, int64_t now_ms);

/* Counts units that turn out to have been taken; the key waits that much longer, at most for what two bursts take. */
void rates_charge(struct rates *rates, uint64_t key, int64_t amount, int64_t now_ms);

size_t rates_known(const struct rates *rates); /* keys that take memory */
