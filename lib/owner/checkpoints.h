/* Checkpoints of a store. A process without data of its own starts from one, and reads only the records after it.
 *
 *     FOLDER/checkpoint-1795249325400/    a whole store (store_checkpoint), named by the time of its beginning (ms)
 *     FOLDER/checkpoint-1795249325400.*   an incomplete one: removed
 *
 * The store itself says what it reflects, and refuses to be opened if it is of no use. Checkpoints are made by a worker.
 * Loop's thread.
 */
#pragma once

#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "store/store.h"

struct checkpoints;

struct checkpoints_options {
    uv_loop_t *loop;
    struct log *log;
    struct metrics *metrics;
    const char *prefix; /* of metrics: "starling_router" */
    const char *folder; /* copied; "": none are made or used */
    int64_t every_ms;
    size_t keep;
    const char *path;   /* copied: of the store */
    int64_t max_age_ms; /* an older checkpoint is not used */
    void *context;
    int (*open)(void *context, struct error *error); /* opens the store at `path`, whatever is there */
    /* Makes a checkpoint of the open store at that path. Worker thread. */
    int (*make)(void *context, const char *path, struct error *error);
    void (*on_opened)(void *context, int code, const struct error *error); /* see checkpoints_open */
};

struct checkpoints *checkpoints_new(const struct checkpoints_options *options);
void checkpoints_free(struct checkpoints *checkpoints); /* not while busy; NULL is fine */
bool checkpoints_busy(const struct checkpoints *checkpoints);

/* Has the store opened, once. If there is no store at its path yet, it begins with the newest checkpoint that can be used. Linking takes
 * milliseconds; from another filesystem a worker copies it, and the log shows the progress. 0: the store is open; 1: on_opened will
 * be called; negative: it cannot be opened. */
int checkpoints_open(struct checkpoints *checkpoints, struct error *error);
/* Gives up a copy that is under way: on_opened then gets -ECANCELED. */
void checkpoints_stop(struct checkpoints *checkpoints);

/* Begins one if it is time. whole: the store is; otherwise it waits. */
void checkpoints_second(struct checkpoints *checkpoints, bool whole, int64_t now_ms);
