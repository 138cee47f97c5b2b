/* The inboxes of attached partitions: applies records of `timelines`, keeps what is new in memory, and writes it in chunks with the
 * offset up to which the store reflects the topic. One thread.
 *
 *     records --> inboxes_take --> memory: reader -> what happened since the last write
 *                                     | inboxes_write: a chunk a reader, the partition's offset behind the last one
 *                                     v
 *     family "inbox-P":  1 reader (8 bytes)              the inbox as of its last merge (feed/inbox.h)
 *                        2 reader (8 bytes) number (4)   what happened since, in order (feed/inbox_log.h); merged when it is much
 *                        3 reader (8 bytes)              the second of the newest Begin: the list of those who have an inbox
 *                        0xff                            the next offset, the number of the newest chunks
 *
 * A push costs a few bytes in memory, and so does any other item. An inbox is read and written only when its chunks are merged, and
 * for a page; a Begin writes it anew. Readers who have an inbox are known in memory, with some 16 bytes each: attaching reads them.
 *
 * Readers without a Begin, or whose newest one is older than `away_ms` by the time of the record at hand, have no inbox: pushes to
 * them are dropped, and the inbox is deleted: when an item comes for it, or by a sweep. A page that reads an inbox renews its Begin in
 * time (inboxes_wants_begin).
 *
 * Functions return 0 or a negative errno code; -EBADMSG: the store is damaged.
 */
#pragma once

#include "event/codec.h"
#include "feed/inbox.h"
#include "feed/recent.h"
#include "store/store.h"

struct feed;
struct inboxes;

struct inboxes_options {
    struct store *store; /* longer-lived; its families "inbox-P" are used by nobody else */
    struct feed *feed;   /* whose they are, for whoever takes records into them */
    int32_t partitions;
    size_t max;          /* posts of an inbox */
    size_t memory_bytes; /* inboxes_full when more is not written yet */
    int64_t away_ms;
    size_t cache_bytes; /* of inboxes that pages have read lately, beside RocksDB's cache (feed/recent.h); 0: none */
};

struct feed *inboxes_feed(const void *inboxes);
struct inboxes *inboxes_new(const struct inboxes_options *options);
void inboxes_free(
    struct inboxes *inboxes); /* what was not written is lost, and read again by its offset; NULL is fine */

/* As the functions of a kind of store (state/kind.h). */
int inboxes_open(void *inboxes, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error);
void inboxes_close(void *inboxes, int32_t partition);
/* The offset of `timelines` to go on from, as the store has it; -1: there are no inboxes yet, and the topic may be read from any offset on.
 * After a crash within inboxes_write, some inboxes are ahead of that offset, until the records that they reflect have been read again. */
int64_t inboxes_next(const void *inboxes, int32_t partition, size_t topic);
/* Forgets all inboxes of the partition, as if it were new. After a failure it is closed. */
int inboxes_reset(void *inboxes, int32_t partition, int64_t now_ms, struct error *error);
/* Some records after the stored offset were deleted before they were read: inboxes are asked for again. */
bool inboxes_lost(void *inboxes, int32_t partition, size_t topic);

/* One item of the record at this offset and time, for these readers, of the partition. Items of records before the stored offset, or
 * before that of inboxes_read_to, are ignored. Requests and hot posts have no business here and are ignored. inboxes_read_to: all
 * items of the records before `next` were taken. */
void inboxes_take(struct inboxes *inboxes, int32_t partition, int64_t offset, int64_t time_ms, const int64_t *readers,
                  size_t count, const struct timeline_item *item);
void inboxes_read_to(struct inboxes *inboxes, int32_t partition, int64_t next);
/* Whether the record of this offset was taken, so that its items would be ignored. */
bool inboxes_has(const struct inboxes *inboxes, int32_t partition, int64_t offset);

/* Looks at the next so many slots of the tables of readers, and deletes the inboxes of those who are away by the time of the newest
 * record. The next item for them would do the same. */
void inboxes_sweep(struct inboxes *inboxes, size_t slots);

bool inboxes_full(const struct inboxes *inboxes);
/* Some partition has taken records and never written any: a restart would begin all its inboxes anew. */
bool inboxes_unwritten(const struct inboxes *inboxes);
/* Writes the memory of all partitions in slices of so many readers, fewer where inboxes are merged. Returns 1 while there is more to
 * write, then 0. Items that are taken between slices may be left for the next round. A slice is never torn: the stored offset moves
 * with a partition's last slice, and records that are applied again after a crash do no harm. After a failure only inboxes_free is
 * of use: each further write fails likewise. */
int inboxes_write(struct inboxes *inboxes, size_t slice, struct error *error);

/* The inbox as it is now, memory included. inbox: any, it is overwritten; request -1: there is none. newest: of the inbox as it was
 * merged last only so many posts are read, and the horizon is then the highest id of the others. A page mostly needs few, and costs
 * less; SIZE_MAX: all. */
int inboxes_find(struct inboxes *inboxes, int32_t partition, int64_t reader, size_t newest, struct inbox *inbox,
                 struct error *error);

/* Whether an inbox that is read now should begin anew: there is none, or half of the time is over after which its reader is away. */
bool inboxes_wants_begin(const struct inboxes *inboxes, const struct inbox *inbox, int64_t now_ms);

struct inboxes_usage {
    size_t inboxes, table_bytes; /* of readers who have one, and the memory that this takes */
    size_t readers, bytes;       /* in memory, not written yet */
    uint64_t taken, dropped;     /* items, once for each reader */
    uint64_t chunks, merges;     /* written */
    struct recent_usage cache;   /* of pages */
};
struct inboxes_usage inboxes_used(const struct inboxes *inboxes);
