/* Friend commands of owned partitions: decided one by one, written as both halves in a transaction that also holds the
 * commands' offsets, so that both halves change, or neither, whatever happens (DESIGN 3 and 4).
 *
 *     on_records --> queue --> decide (overlay, else friend lists) --> halves, offsets --> commit on a worker thread
 *                                        ^                                                    |
 *                                        +---------- overlay, until read back <---------------+
 *
 * A failed transaction drops queue and overlay: on_reset, and the owner begins every partition again, from its committed
 * offset and after friendships has been read to its end. Loop's thread but for the worker's part.
 */
#ifndef ROUTER_COMMANDS_H
#define ROUTER_COMMANDS_H

#include "event/codec.h"
#include "kafka/producer.h"
#include "router/graph.h"
#include "router/metrics.h"

struct commands;

struct commands_options {
    uv_loop_t *loop;
    const struct kafka_settings *settings;
    struct log *log;
    struct graph *graph;
    struct router_metrics *metrics;
    const char *transactional_id;
    int32_t partitions;
    size_t batch; /* commands in one transaction at most */
    size_t cap;   /* friends of a user */
    void *context;
    void (*on_handled)(void *context); /* commands were handled, or the producer became ready */
    void (*on_reset)(void *context);   /* what was begun must be begun again */
};

int commands_new(const struct commands_options *options, struct commands **commands, struct error *error);
void commands_free(struct commands *commands); /* not while busy; NULL is fine */

/* The group's consumer, whose membership the transactions are bound to. */
void commands_set_consumer(struct commands *commands, struct kafka_consumer *consumer);

bool commands_ready(const struct commands *commands);      /* transactions can be made */
bool commands_busy(const struct commands *commands);       /* a worker thread is at it */
bool commands_committing(const struct commands *commands); /* a transaction is open */

/* The partition's commands come from that offset on. Everything they may ask is in the friend lists. */
void commands_begin(struct commands *commands, int32_t partition, int64_t offset);
/* The assignment is gone: drops what is queued, and the overlay. */
void commands_revoke(struct commands *commands);
/* No more transactions; commands_busy says when the last is over. */
void commands_stop(struct commands *commands);

void commands_take(struct commands *commands, const struct kafka_record *record); /* in order of offsets */
void commands_run(struct commands *commands);                                     /* starts a transaction if it can */
size_t commands_queued(const struct commands *commands);

/* All commands before this offset are handled; -1: not begun. */
int64_t commands_handled(const struct commands *commands, int32_t partition);

/* Friendships of that partition is applied up to `next`. */
void commands_read_back(struct commands *commands, int32_t partition, int64_t next);

/* The lower user's half as the next command will find it. */
int commands_half(struct commands *commands, int32_t partition, int64_t lower, int64_t other, struct friendship *half,
                  struct error *error);

#endif
