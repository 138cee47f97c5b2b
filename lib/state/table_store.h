/* Rows in sorted families of a database, a few families a partition, and in the same writes how far the topics are read from which they
 * come. So rows and offsets are of the same moment, whatever crashes. Kinds of stores are built on it (state/kind.h).
 *
 *     NAME-P     rows; the first family also has a row of numbers: next offset of each topic, mark, when it was up to date (ms), version
 *
 * Keys begin with a byte below 0xff, but for the row of numbers, which may have any. Functions return 0 or a negative errno code. One
 * thread.
 */
#pragma once

#include "state/kind.h"
#include "store/store.h"

enum { TABLE_STORE_FAMILIES = 2, TABLE_STORE_TOPICS = 4 }; /* at most */

struct table_store;

/* Checks a record, which then becomes a row as it is, unless its offset is passed here. Returns NULL, or the reason why it is none of its
 * topic, which may point into `error`. */
typedef const char *table_store_take(void *context, struct table_store *table, const struct kafka_record *record,
                                     struct error *error);

struct table_store_options {
    struct store *store; /* longer-lived */
    int32_t partitions;
    const char *families[TABLE_STORE_FAMILIES]; /* names; not copied */
    size_t topics;
    uint8_t numbers;        /* the key of the row of numbers */
    int64_t version;        /* of the rows: those of another one are dropped */
    bool sorted;            /* store_batch_new_sorted */
    bool bare;              /* the row of numbers has no mark, no age, and no version if ours is 0 */
    table_store_take *take; /* for TABLE_STORE_KIND; NULL: the store is part of one of another kind */
    void *context;
};

struct table_store *table_store_new(const struct table_store_options *options);
/* Of the records of one topic: families "NAME-P", whose key 0xff has the next offset and nothing else. name: not copied. */
struct table_store *table_store_of_topic(struct store *store, const char *name, int32_t partitions,
                                         table_store_take *take, void *context);
extern const struct state_kind TABLE_STORE_KIND;  /* of table_store_of_topic */
void table_store_free(struct table_store *table); /* what is gathered is lost; NULL is fine */

/* As the functions of a kind, of a struct table_store. Opening empties rows of another version, too. Resetting drops all that is gathered, of all partitions. */
int table_store_open(void *table, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error);
int table_store_reset(void *table, int32_t partition, int64_t now_ms, struct error *error);
int64_t table_store_next(const void *table, int32_t partition, size_t topic);
void table_store_touch(struct table_store *table, int32_t partition, int64_t now_ms);
int table_store_write(void *table, struct error *error);

struct store_family *table_store_family(const struct table_store *table, int32_t partition, size_t family); /* open */
struct store_batch *table_store_batch(struct table_store *table); /* rows are gathered in it */
/* Everything of the topic before `next` is gathered; -1: the topic begins anew. */
void table_store_pass(struct table_store *table, int32_t partition, size_t topic, int64_t next);

/* Gathers a record of topic 0 as a row of the first family; value NULL: a tombstone. One that was passed already is not taken. */
void table_store_put(struct table_store *table, int32_t partition, int64_t offset, const void *key, size_t key_size,
                     const void *value, size_t size);
/* A row of the first family. 1: found (value, unless it is NULL, is replaced), 0: none. */
int table_store_get(struct table_store *table, int32_t partition, const void *key, size_t key_size,
                    struct buffer *value, struct error *error);

/* The highest of a product's numbers that it must not give again; -1: none. */
int64_t table_store_mark(const struct table_store *table, int32_t partition);
void table_store_raise(struct table_store *table, int32_t partition, int64_t mark); /* a lower one is passed by */
