/* A look at where partitions stand, from a worker thread: which files there are of them, and where they end in Kafka. One
 * at a time. Loop's thread. */
#ifndef HISTORY_SINK_LOOK_H
#define HISTORY_SINK_LOOK_H

#include "history-sink/archive.h"
#include "kafka/admin.h"

struct look;

struct look_seen {
    const struct archive_wanted *wanted; /* with what was found */
    size_t count;
    const int64_t *ends; /* by partition: where it ended in Kafka when asked */
    int folder_code;     /* 0, or the folder's trouble: nothing else is known */
    int kafka_code;      /* 0, or Kafka's: ends are not known */
    const char *reason;  /* of the trouble */
};

struct look_options {
    uv_loop_t *loop;
    const struct kafka_settings *settings;
    const char *dir;   /* history.dir */
    const char *group; /* the sinks' consumer group */
    int partitions;    /* of locations */
    void *context;
    /* Not the place for look_start. What is handed over is valid during the call. */
    void (*on_seen)(void *context, const struct look_seen *seen);
};

int look_new(const struct look_options *options, struct look **look, struct error *error);
void look_free(struct look *look); /* NULL is fine; on_seen is not called any more */
bool look_busy(const struct look *look);

/* Not while one is under way. Sweeps temporary files (archive_scan). Copies wanted. */
void look_start(struct look *look, const struct archive_wanted *wanted, size_t count);

#endif
