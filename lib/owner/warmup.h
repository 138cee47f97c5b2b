/* Reads the recent records of an input, of all partitions, into memory: the newest part before this process joins its group, so that it
 * knows the present when it takes partitions over, and the rest of a window after that.
 *
 *     input   ......[ rest: since the window's beginning )[ newest: the last first_s )[ what the group's consumer reads
 *                   ^ from                                ^ first                     ^ next
 *
 * The rest is read after the newest part, so applying an old record late must not change newer state. Loop's thread.
 */
#pragma once

#include "kafka/consumer.h"

struct warmup;

struct warmup_options {
    uv_loop_t *loop;
    struct log *log;
    const struct kafka_settings *kafka;
    const struct topic *topic;
    int32_t partitions;
    size_t batch;
    int64_t first_ms;  /* before now, by Kafka's time, where the newest part begins */
    int64_t window_ms; /* the same for the rest; -1: everything that is kept */
    void *context;
    void (*on_records)(void *context, const struct kafka_record *records, size_t count);
    /* The newest part is read: by partition, where it began, and where reading goes on. */
    void (*on_first)(void *context, const int64_t *first, const int64_t *next);
    void (*on_done)(void *context); /* the rest is read, too */
};

int warmup_new(const struct warmup_options *options, struct warmup **warmup, struct error *error);
void warmup_stop(struct warmup *warmup); /* asks nothing more; NULL is fine */
void warmup_free(struct warmup *warmup); /* not while busy; NULL is fine */
bool warmup_busy(const struct warmup *warmup);
