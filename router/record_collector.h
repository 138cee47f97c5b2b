/* Produces everything that a router writes outside of transactions: delivery batches, LEAVE events, REMOVE commands, ends of links, approaches and who is told of places; and
 * reports which of them were stored. Loop's thread.
 */
#pragma once

#include "event/codec.h"
#include "kafka/producer.h"
#include "router/approaches.h"
#include "router/excess.h"
#include "router/metrics.h"

struct record_collector;

struct record_collector_options {
    uv_loop_t *loop;
    const struct kafka_settings *kafka;
    struct log *log;
    struct router_metrics *metrics;
    struct metrics *registry; /* where dead letters are counted */
    size_t queue_bytes;
    void *context;
    void (*on_batch)(void *context, uint64_t epoch, bool stored);
    void (*on_leave)(void *context, uint64_t ticket, bool stored);
    void (*on_remove)(void *context, uint64_t ticket, bool stored);
    void (*failed)(void *context, const char *doing, const struct error *error); /* the process must end */
};

int record_collector_new(const struct record_collector_options *options, struct record_collector **collector,
                         struct error *error);
void record_collector_free(
    struct record_collector *collector); /* first calls back for everything under way; NULL is fine */
struct kafka_producer *record_collector_producer(struct record_collector *collector); /* for dead letters */

/* A delivery batch: the outbox's sender; the collector is its context. After a fatal error of the producer batches wait for ever, so that
 * their epoch is never settled: the next owner carries out their effects. */
int record_collector_batch(void *collector, int32_t route, const void *bytes, size_t size, uint64_t epoch);

/* LEAVE {opted} of a user; time: now, ms. ticket: comes back by on_leave; 0: no caller waits for it. 0 or -EAGAIN, ... */
int record_collector_leave(struct record_collector *collector, int64_t user, int64_t opted, int64_t time,
                           uint64_t ticket);

/* The command by which links end that were made by the user's sharing record `opted` or an older one, or whose time is over. The ticket comes
 * back by on_leave, as that of a LEAVE does. */
int record_collector_end_links(struct record_collector *collector, int64_t user, int64_t opted, uint64_t ticket);

/* A notice to a user: nobody hears whether it was stored. */
int record_collector_approach(struct record_collector *collector, const struct approach *approach);

/* What a user is told of a place. The ticket comes back by on_leave, as that of a LEAVE does. */
int record_collector_place_told(struct record_collector *collector, int64_t user, const struct place_told *told,
                                uint64_t ticket);

/* REMOVE of a friendship beyond the cap; the item's ticket comes back by on_remove. */
int record_collector_remove(struct record_collector *collector, const struct excess_item *item);
