/* Reads the batches of deliveries that routers send, and gives each item to the screen of its kind. Items of no screen's kind
 * are skipped: an older edge does not stumble over what a newer router says. Loop's thread.
 */
#pragma once

#include "base/log.h"
#include "base/metrics.h"
#include "fanout/clock.h"
#include "fanout/screen_set.h"
#include "fanout/sessions.h"
#include "kafka/producer.h"

struct deliveries;

struct deliveries_options {
    struct log *log;
    struct metrics *metrics;
    const struct screen_set *screens; /* outlives them, as do the clock and the producer */
    struct protocol_clock *clock;     /* moved on by the batches' stream times */
    struct sessions *sessions;        /* where traces of deliveries go on */
    void *context;
    /* A batch that cannot be decoded: to the dead letters. 0, or a negative errno code. */
    int (*dead)(void *context, const struct kafka_record *record, const char *reason);
};

struct deliveries *deliveries_new(const struct deliveries_options *options);
void deliveries_free(struct deliveries *deliveries); /* NULL is fine */

void deliveries_apply(struct deliveries *deliveries, const struct kafka_record *records, size_t count);
