/* Local copies of the compacted topics profiles and sharing, kept up to date from Kafka, whole: what gateways and edges
 * look users up in.
 *
 * Sharing is held in memory (16 bytes a user that has a record), profiles in RocksDB under data_dir with the offsets they
 * reflect, so that a restart reads only what is new (one process a data_dir). Ready when both have been read to the end as
 * of the start, however long no broker answers. One consumer without a group. Loop's thread. All that the options name
 * must outlive the loop's last turn.
 */
#ifndef COPIES_COPIES_H
#define COPIES_COPIES_H

#include "base/log.h"
#include "base/metrics.h"
#include "event/codec.h"
#include "kafka/producer.h"

struct copies;

struct copies_options {
    uv_loop_t *loop;
    const struct kafka_settings *settings;
    const char *data_dir;
    int partitions; /* of profiles and sharing */
    struct log *log;
    struct metrics *metrics;
    struct kafka_producer *dead_letters; /* where undecodable records go; borrowed */
    void *context;
    void (*on_ready)(void *context); /* once; NULL fine */
    void (*on_sharing)(void *context, int64_t user, enum sharing_mode mode,
                       int64_t offset);              /* a change after ready; NULL fine */
    void (*on_profile)(void *context, int64_t user); /* a change after ready; NULL fine */
};

int copies_new(const struct copies_options *options, struct copies **copies, struct error *error);
void copies_free(struct copies *copies); /* may wait up to 2 s for a broker that is away; NULL is fine */
bool copies_ready(const struct copies *copies);

/* The user's sharing mode and the offset of its record (-1: none). */
enum sharing_mode copies_sharing(const struct copies *copies, int64_t user, int64_t *offset);

/* 1 found (texts valid until the next call), 0 none. */
int copies_profile(struct copies *copies, int64_t user, struct profile *profile);

#endif
