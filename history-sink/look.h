/* A look into the folder of files from a worker thread, as it may be large, slow and far away. One at a time. Loop's
 * thread. */
#ifndef HISTORY_SINK_LOOK_H
#define HISTORY_SINK_LOOK_H

#include "base/loop.h"
#include "history-sink/archive.h"

struct look;

struct look_options {
    uv_loop_t *loop;
    const char *dir; /* history.dir; copied */
    void *context;
    /* What archive_scan said. wanted is valid during the call, which is not the place for look_start. */
    void (*on_seen)(void *context, int code, const struct archive_wanted *wanted, size_t count, const char *reason);
};

struct look *look_new(const struct look_options *options);
void look_free(struct look *look); /* NULL is fine; on_seen is not called any more */
bool look_busy(const struct look *look);

/* Not while one is under way. Sweeps temporary files (archive_scan). Copies wanted. */
void look_start(struct look *look, const struct archive_wanted *wanted, size_t count);

#endif
