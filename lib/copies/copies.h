/* Copies of compacted topics, whole, in every process that looks something up in them (who shares, names, bans), kept up to date
 * from Kafka. The mechanism knows no record: whoever wants a copy describes it in a table entry.
 *
 *     topic --> apply --> in memory: what the owner of the copy keeps of each record; read from the beginning at each start
 *                    +--> on disk:   the values as they came (copies/disk.h); a restart reads only what is new
 *
 * Ready when all have been read to the ends that they had at the start, however long no broker answers. A disk that refuses a
 * write (it is full, say) stops its copy alone, which is opened anew each second and read on from where it was.
 *
 * One consumer without a group. Loop's thread. All that the options name must outlive the loop's last turn.
 */
#pragma once

#include "base/log.h"
#include "base/metrics.h"
#include "copies/disk.h"
#include "kafka/consumer.h"
#include "kafka/producer.h"

/* One copy. */
struct copy_definition {
    const struct topic *topic;
    struct copy_disk *disk; /* where the values are kept; borrowed. NULL: in memory, by apply */
    void *context;
    /* Checks a record and, in memory, keeps it (value NULL: its key is gone). Negative, with the reason: it goes to the dead
     * letters and changes nothing. */
    int (*apply)(void *context, const struct kafka_record *record, struct error *error);
    /* In memory: drops everything. The topic is read anew, because records that it removed meanwhile are not known. On disk: NULL. */
    void (*forget)(void *context);
    /* A record was applied, after ready. Called for the records of a batch when all of them are applied. NULL: not wanted. */
    void (*changed)(void *context, const struct kafka_record *record);
};

struct copies_options {
    uv_loop_t *loop;
    const struct kafka_settings *settings;
    int partitions;                            /* of each of the topics */
    const struct copy_definition *definitions; /* copied; a topic once */
    size_t count;
    struct log *log;
    struct metrics *metrics;
    struct kafka_producer *dead_letters; /* where records go that cannot be applied; borrowed */
    void *context;
    void (*on_ready)(void *context); /* once; NULL: not wanted */
    /* The disk of a copy has failed (reason), or works again (reason NULL). NULL: the log says so. */
    void (*on_disk)(void *context, const struct topic *topic, const char *reason);
};

struct copies;

int copies_new(const struct copies_options *options, struct copies **copies, struct error *error);
/* Makes no more callbacks, and uses the definitions no longer. Frees its memory in a later turn of the loop, when a question that is
 * under way is answered or has run out of time. NULL is fine. */
void copies_free(struct copies *copies);
bool copies_ready(const struct copies *copies);
