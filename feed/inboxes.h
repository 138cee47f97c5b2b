/* The inboxes of attached partitions: applies records of `timelines`, keeps what is new in memory, and writes it in chunks with the
 * offset up to which the store reflects the topic. One thread.
 *
 *     records --> inboxes_take --> memory: reader -> posts pushed since the last write
 *                                     | inboxes_write: a chunk a reader, the partition's offset in the same batch
 *                                     v
 *     family "inbox-P":  reader (8 bytes) 0            the inbox as of its last merge (feed/inbox.h)
 *                        reader (8 bytes) number (4)   what was pushed since, in order; merged when there are many
 *                        0xff                          the next offset
 *
 * A push costs a few bytes in memory; the inbox itself is read and written only for a Begin, a Backlog, an Answer, when its chunks are
 * merged, and for a page.
 *
 * Readers without a Begin, or whose newest one is older than `away_ms` by the time of the record at hand, have no inbox: pushes to
 * them are dropped, and the inbox is deleted. An inbox that is read renews its Begin in time (inboxes_wants_begin).
 *
 * Functions return 0 or a negative errno code.
 */
#ifndef FEED_INBOXES_H
#define FEED_INBOXES_H

#include "event/codec.h"
#include "feed/inbox.h"
#include "store/store.h"

struct inboxes;

struct inboxes_options {
    struct store *store; /* longer-lived; its families "inbox-P" are used by nobody else */
    int32_t partitions;
    size_t max;          /* posts of an inbox */
    size_t memory_bytes; /* inboxes_full when more is not written yet */
    int64_t away_ms;
};

struct inboxes *inboxes_new(const struct inboxes_options *options);
void inboxes_free(struct inboxes *inboxes); /* what was not written is lost, and read again by its offset */

/* Opens a partition. *next: the offset of `timelines` to go on from; -1: there are no inboxes yet, and the topic may be read from any
 * offset on. */
int inboxes_attach(struct inboxes *inboxes, int32_t partition, int64_t *next, struct error *error);
void inboxes_detach(struct inboxes *inboxes, int32_t partition);

/* Some records after the stored offset were deleted before they were read: forgets all inboxes of the partition. */
int inboxes_forget(struct inboxes *inboxes, int32_t partition, struct error *error);

/* One item of the record at this offset and time, for these readers, of the partition. Items of records before the stored offset are
 * ignored. Requests and hot posts have no business here and are ignored. inboxes_read_to: all items of the records before `next` were taken. */
int inboxes_take(struct inboxes *inboxes, int32_t partition, int64_t offset, int64_t time_ms, const int64_t *readers,
                 size_t count, const struct timeline_item *item, struct error *error);
void inboxes_read_to(struct inboxes *inboxes, int32_t partition, int64_t next);

bool inboxes_full(const struct inboxes *inboxes);
/* Writes what is in memory, of all partitions. In slices: returns 1 while there is more to write, then 0. A slice is never torn:
 * the stored offset moves with the last one, and chunks that are written again after a crash do no harm. */
int inboxes_write(struct inboxes *inboxes, size_t slice, struct error *error);

/* The inbox as it is now, memory included. inbox: any, it is overwritten; request -1: there is none. */
int inboxes_find(struct inboxes *inboxes, int32_t partition, int64_t reader, struct inbox *inbox, struct error *error);

struct inboxes_usage {
    size_t readers, bytes; /* in memory, not written yet */
    uint64_t pushed, dropped, chunks, merges;
};
struct inboxes_usage inboxes_used(const struct inboxes *inboxes);

#endif
