/* A kind of store that tasks own (tasks/tasks.h), as a table of functions. A store is one for the process and has a part for each partition;
 * it is a copy of what its topics hold, and may be emptied and read anew at any time.
 *
 * Functions return 0 or a negative errno code, and the error. -EBADMSG: a value on the disk is damaged; the partition's task then empties
 * its stores. A store's topics are numbered from 0 in the order of the product's table. One thread.
 */
#ifndef STATE_KIND_H
#define STATE_KIND_H

#include "kafka/consumer.h"

struct state_kind {
    /* Opens a partition's part, and empties it if it was last up to date before since_ms: it may lack tombstones. */
    int (*open)(void *store, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error);
    void (*close)(void *store, int32_t partition); /* NULL: a closed part costs nothing */
    void (*live)(void *store, int32_t partition);  /* all of the state is here; NULL: no matter */

    /* Gathers a record of an open part, and passes its offset. *reason: why it is no record of its topic; else untouched. */
    int (*take)(void *store, size_t topic, const struct kafka_record *record, const char **reason, struct error *error);

    /* NULL for a store in memory, which is read from the beginning each time that its partition is to be live, and has none of the rest. */
    int64_t (*next)(const void *store, int32_t partition, size_t topic); /* where a topic goes on; -1: its beginning */
    int (*write)(void *store, struct error *error);                      /* all that is gathered */
    int (*reset)(void *store, int32_t partition, int64_t now_ms, struct error *error); /* the part is empty */
    /* The topic's next offset is gone: true: it goes on at the beginning, and all that was read stays. NULL: never. */
    bool (*lost)(void *store, int32_t partition, size_t topic);
    void (*touch)(void *store, int32_t partition, int64_t now_ms); /* it is up to date now, as the next write says */
    int (*keep)(void *store, int32_t partition, int64_t now_ms, struct error *error); /* once a second; NULL: nothing */
};

#endif
