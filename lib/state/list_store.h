/* Sorted lists of ids on disk (adjacency/adjacency.h) as a kind of store, of one topic: a record puts one id on one list, or takes it off.
 *
 *     records --> queue --> lists          as they come, or in lots while very many come (adjacency/lots.h)
 *                   |
 *                   +-----> sorted runs    of a part that is read from the beginning; a worker makes lists of them when all is read
 *
 * While a part is queued, its offset in the store is before the records that wait. One thread, but for the worker's.
 */
#pragma once

#include "adjacency/adjacency.h"
#include "base/loop.h"
#include "state/kind.h"

struct list_store;

/* A record's meaning: the id has this tag on the list from now on. */
struct list_entry {
    struct adjacency_list list;
    int64_t id, stamp;
    uint8_t tag;
};

struct list_store_options {
    struct adjacency *lists; /* open; longer-lived */
    int32_t partitions;
    uv_loop_t *loop; /* of lots; NULL: all is applied as it comes */
    void *context;
    /* Returns NULL, or why the record is none of its topic, which may point into `error`. */
    const char *(*read)(void *context, const struct kafka_record *record, struct list_entry *entry,
                        struct error *error);
    /* Records were applied; restoring: without telling what has changed (adjacency's on_change). */
    void (*applied)(void *context, int32_t partition, size_t count, bool restoring);
    /* The store failed, or (-EBADMSG) a list of that partition is damaged. */
    void (*failed)(void *context, int32_t partition, int code, const struct error *error);

    /* NULL: the product has no use for it. */
    void (*emptied)(void *context,
                    int32_t partition); /* opened, closed or reset: what was known of its lists is over */
    void (*lives)(void *context, int32_t partition, bool live); /* the lists have an owner here, or no longer */
    int (*keep)(void *context, int32_t partition, bool live,
                struct error *error); /* of readable lists, once a second */
};

struct list_store *list_store_new(const struct list_store_options *options);
void list_store_free(struct list_store *store); /* what is queued is lost, and read again by its offset; NULL is fine */

extern const struct state_kind LIST_STORE_KIND;

/* The first record that is not applied yet, of those that were taken; INT64_MAX: all are. */
int64_t list_store_held(const struct list_store *store, int32_t partition);

/* ---- steps of the kind, for tests and benches too ---- */

int list_store_open(void *store, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error);
void list_store_close(void *store, int32_t partition);
int list_store_reset(void *store, int32_t partition, int64_t now_ms, struct error *error);
/* Queues an entry, unless its offset was taken before. */
void list_store_add(struct list_store *store, int64_t offset, const struct list_entry *entry);
/* Applies what is queued, and that everything before `next` is; a lower `next` than before changes nothing. */
int list_store_apply(struct list_store *store, int32_t partition, int64_t next, int64_t now_ms, bool restoring,
                     struct error *error);
