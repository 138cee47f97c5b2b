/* The owner's store of counters and outcomes: RocksDB, a family a partition. A partition's offset in COUNTERS is written together with
 * what was read before it, so that neither is ever ahead of the other. One thread. */
#ifndef SPINE_LEDGER_H
#define SPINE_LEDGER_H

#include "kafka/consumer.h"

struct ledger;

int ledger_open(const char *path, int32_t partitions, struct ledger **ledger, struct error *error);
void ledger_close(struct ledger *ledger); /* NULL is fine */

int ledger_attach(struct ledger *ledger, int32_t partition, struct error *error);
int ledger_reset(struct ledger *ledger, int32_t partition, struct error *error); /* nothing is in it from now on */
int64_t ledger_next(const struct ledger *ledger, int32_t partition); /* where reading goes on; -1: nothing is in it */

/* Gathers a record; one that it has read before is passed by. ledger_write writes all that is gathered, at once. */
void ledger_take(struct ledger *ledger, const struct kafka_record *record);
int ledger_write(struct ledger *ledger, struct error *error);

/* 1: there is one, of that size; 0: none; or a negative errno code. */
int ledger_get(struct ledger *ledger, int32_t partition, const void *key, size_t key_size, void *value, size_t size,
               struct error *error);

#endif
