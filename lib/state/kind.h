/* A kind of store that tasks own (tasks/tasks.h), as a table of functions. A store is one for the process and has a part for each partition;
 * it is a copy of what its topics hold, and may be emptied and read anew at any time.
 *
 * Functions return 0 or a negative errno code, and the error. -EBADMSG: a value on the disk is damaged; the partition's task then empties
 * its stores. A store's topics are numbered from 0 in the order of the product's table. One thread.
 */
#pragma once

#include "kafka/consumer.h"

struct state_kind {
    /* It is read from the beginning each time that its partition is to run, and closed when that ends. */
    bool in_memory;
    /* A part that is empty lacks nothing: it begins with what is to come, and that of an owner where effects go on. */
    bool from_effects;

    /* Opens a partition's part, and empties it if it was last up to date before since_ms: it may lack tombstones. NULL: a part is open when
     * the first record comes. */
    int (*open)(void *store, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error);
    void (*close)(void *store, int32_t partition); /* NULL: a closed part costs nothing */
    /* All of the state is here, and the task runs from now on, or (false; not in memory) no longer, if it did. NULL: no matter. */
    int (*live)(void *store, int32_t partition, bool live, struct error *error);

    /* Gathers a record of an open part, and passes its offset. *reason: why it is no record of its topic; else untouched. */
    int (*take)(void *store, size_t topic, const struct kafka_record *record, const char **reason, struct error *error);
    /* Where a topic goes on; -1: its beginning. In memory: behind the last record; NULL: no decider wants to know. */
    int64_t (*next)(const void *store, int32_t partition, size_t topic);

    /* A store in memory has none of the rest. */
    int (*write)(void *store, struct error *error); /* all that is gathered; NULL: it says itself when */
    /* The part is empty. NULL: nothing of it is on a disk, where it may be damaged. */
    int (*reset)(void *store, int32_t partition, int64_t now_ms, struct error *error);
    /* The topic's next offset is gone: true: it goes on at the beginning, and nothing else is to be done. NULL: never. */
    bool (*lost)(void *store, int32_t partition, size_t topic);
    /* It is up to date now, as the next write says. NULL: it has no age of its own (state/ages.h). */
    int (*touch)(void *store, int32_t partition, int64_t now_ms, struct error *error);
    int (*keep)(void *store, int32_t partition, int64_t now_ms, struct error *error); /* once a second; NULL: nothing */

    /* Of a store that puts together what it has gathered from the beginning, when it has all of it; else NULL. The task runs when nothing
     * is left unbuilt. build_begin: *build NULL: there is nothing to do. build_run: on a worker thread; build_end: back on the loop's. */
    int64_t (*unbuilt)(const void *store, int32_t partition);
    int (*build_begin)(void *store, int32_t partition, int64_t now_ms, void **build, struct error *error);
    int (*build_run)(void *build, struct error *error);
    int (*build_end)(void *store, int32_t partition, void *build, int code, int64_t now_ms, struct error *error);
};
