/* What an edge writes to `devices` (users/device.h): a row for each session, a tombstone when it is over, and beats that say that its run
 * goes on.
 *
 *     written   sessions whose rows were written in this run
 *     waiting   those whose rows are still to be written: there was no room, or the run is new
 *
 * One thing mends all that can go wrong. If a record was lost, or owners may have taken the run for silent (the process stood still), the
 * edge begins a new run at the next beat, and writes all rows anew; those of the former run are forgotten by their owners, as those of
 * an edge that died. One thread.
 */
#pragma once

#include "base/buffer.h"
#include "base/chance.h"
#include "users/device.h"

struct device_session { /* all zero: it has no row */
    struct device_session *next, **link;
    int64_t user, session, since; /* since: ms since the epoch */
    int64_t run;                  /* in which its row was written last; -1: in none yet */
    char *name;                   /* NULL: it has none */
};

struct device_rows_options {
    int32_t partitions; /* of `devices` */
    int64_t beat_ms;    /* between two beats */
    void *context;
    bool (*up)(void *context); /* the producer can reach a broker */
    /* partition -1: by the key. value NULL: a tombstone. What becomes of it is told by device_rows_told. Not 0: it was not taken. */
    int (*send)(void *context, int32_t partition, const void *key, size_t key_size, const void *value, size_t size,
                bool beat);
};

struct device_rows {
    struct device_rows_options options;
    struct device_session *written, *waiting;
    struct chance chance;
    int64_t run, began_ms; /* began: wall clock */
    int64_t heard_ms;      /* monotonic: when a beat was last acknowledged, or the run began */
    bool lost;             /* something that was to be written */
    struct buffer value;
};

/* The first run begins. now_ms: monotonic, wall_ms: since the epoch, in all of these. */
void device_rows_init(struct device_rows *rows, const struct device_rows_options *options, int64_t now_ms,
                      int64_t wall_ms);
void device_rows_free(struct device_rows *rows); /* without sessions; all zero is fine */

/* name: of a hello, copied; NULL: none. The session is not there yet. */
void device_rows_add(struct device_rows *rows, struct device_session *session, int64_t user, int64_t number,
                     const char *name, int64_t wall_ms);
void device_rows_remove(struct device_rows *rows, struct device_session *session); /* if it is there */

/* Once each beat_ms. */
void device_rows_beat(struct device_rows *rows, int64_t now_ms, int64_t wall_ms);
/* Writes some rows that wait. True: more wait, for room or for the next slice. */
bool device_rows_write(struct device_rows *rows);
/* A record was acknowledged (code 0) or is lost. */
void device_rows_told(struct device_rows *rows, bool beat, int code, int64_t now_ms);
