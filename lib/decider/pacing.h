/* How many commands a transaction takes, and how long it may: both follow what transactions have taken. Where Kafka is slow, transactions
 * get smaller and later; they never become too large to be committed. Pure: no clock. Private to lib/decider. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pacing {
    size_t max, limit; /* commands in one transaction; limit: at most so many in the next one */
    int64_t
        allowed_ms; /* for a transaction, from its first record to its commit: the broker gives up what is open for longer */
    int64_t producer_ms; /* what the producer was made with */
};

struct pacing pacing_new(size_t max);

/* A transaction of so many commands was committed, or was not, after so many milliseconds. */
void pacing_committed(struct pacing *pacing, size_t commands, int64_t took_ms);
void pacing_failed(struct pacing *pacing, size_t commands, int64_t took_ms);

/* The producer must be made anew, with allowed_ms, to allow more. */
static inline bool pacing_outgrown(const struct pacing *pacing) { return pacing->allowed_ms > pacing->producer_ms; }
