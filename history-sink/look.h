/* A look at where partitions stand: their files, which may be many, slow and far away, where the newest of them ends, and then where they
 * begin and end in Kafka, which therefore is no earlier. On the worker, one at a time, behind the files that are to be published
 * before. Loop's thread. */
#pragma once

#include "history-sink/archive.h"
#include "kafka/consumer.h"

struct look;
struct sink;

/* The end of a partition's chain. */
struct look_end {
    int code; /* negative: its newest file cannot be read, `error` says why */
    struct error error;
    struct chain_end chain;
};

struct look_seen {
    int code, kafka_code; /* negative: the storage, or Kafka, failed */
    const char *reason;   /* of either */
    size_t count;
    const struct archive_wanted *wanted; /* [count]: what archive_scan found */
    const struct look_end *chains;       /* [count] */
    const struct kafka_position *kept;   /* [count]: the first offset that Kafka has of each partition, */
    const struct kafka_position *ends;   /* [count]: and where it ends */
};

/* seen: valid during the call. */
typedef void look_seen_fn(void *sink, const struct look_seen *seen);
struct look *look_new(struct sink *sink, look_seen_fn *on_seen);
void look_free(struct look *look); /* while the worker is not busy; NULL is fine */
bool look_busy(const struct look *look);

/* Not while one is under way. Sweeps hidden files (archive_scan). Copies wanted. */
void look_start(struct look *look, const struct archive_wanted *wanted, size_t count);
