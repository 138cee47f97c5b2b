/* The sessions of users, of open partitions: the topic `devices`, in a table store of families "devices-P" (keys: users/device.h). Edges
 * write a row for each session, a tombstone when it is over, and say each minute in each partition that their run goes on:
 *
 *     edge --- rows, beats ---> devices --- read ---> rows, runs      GET /v1/devices: the rows whose runs were heard lately
 *     owner --- tombstones of runs that are silent --->'
 *
 * An edge that dies writes no tombstones, and its run falls silent. Silence is counted in seconds in which this process answered for the
 * partition and had read all of it: what Kafka holds back from all is no edge's silence, and no two machines' clocks are compared. One
 * thread.
 */
#pragma once

#include "event/codec.h"
#include "state/table_store.h"
#include "users/device.h"

struct device_store;

struct device_store_options {
    struct store *store; /* longer-lived */
    int32_t partitions;
    int64_t silent_s;
    void *context;
    void (*forget)(void *context, int32_t partition, const void *key,
                   size_t size); /* writes a tombstone; it may get lost */
};

struct device_store *device_store_new(const struct device_store_options *options);
void device_store_free(struct device_store *devices); /* what is gathered is lost; NULL is fine */

struct table_store *device_store_table(struct device_store *devices); /* takes the records; lives as long */

/* A session. */
struct device_row {
    int64_t run, session, since;
    size_t size;
    char name[DEVICE_NAME_MAX]; /* size 0: it has none */
};

/* The user's newest sessions, newest first. silent: those of silent runs, too. 0 or a negative errno code; -EBADMSG: damaged. */
int device_store_of(struct device_store *devices, int32_t partition, int64_t user, bool silent,
                    struct device_row rows[DEVICES_SHOWN], size_t *count, struct error *error);

/* A second has passed in which the process answered for the partition, and had all of it. Forgets some rows of silent runs. As above. */
int device_store_second(struct device_store *devices, int32_t partition, struct error *error);
