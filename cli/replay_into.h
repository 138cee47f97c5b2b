/* `starling replay --into`: a period of topics, copied into topics with another prefix. Blocking; one thread.
 *
 *     starling.locations  --from <= time < to-->  week7.locations     same partition, key, value and time
 *     starling.sharing    --------time < to---->  week7.sharing       what it held before is part of what it holds
 *
 * Records are copied in the order of their times over all topics and partitions, so that whoever reads the copies sees the stream of the
 * clock. The copied topics keep these times and delete nothing by age; all other topics with that prefix are made as
 * `starling topics create` makes them.
 *
 * With another number of partitions it is a migration: the copies are for daemons to go on with. Only topics that say how their keys choose
 * partitions are copied, each record goes where its key belongs now (cli/repartition.h), and in the end all topics have the settings that
 * daemons rely on.
 */
#pragma once

#include "cli/cli.h"

struct into_options {
    const struct cli *cli;
    const char *prefix;                /* of the copies */
    const struct topic *const *topics; /* what is copied; count 0: what lists of friends and history are made from */
    size_t count;
    int partitions;          /* of the copies, of all topics but deliveries; 0: as many as the originals have */
    int delivery_partitions; /* of deliveries; 0: the same */
    int placed_among;        /* how many partitions there were when the records were written; 0: as many as there are */
    int64_t from_ms, to_ms;
    double speed; /* seconds of the period in a second; 0: as fast as possible */
};

/* The text can be a prefix of topics. */
bool into_prefix_good(const char *prefix);

/* -EINVAL: the topics cannot be copied so. -EEXIST: there are copies already; -EINTR: SIGINT or SIGTERM came. The reason then says how to begin again. Others as reader_run and
 * sender_put. Prints how many records were copied. */
int into_run(const struct into_options *options, struct error *error);
