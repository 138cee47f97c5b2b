/* Lists of ids on disk, one for each (owner, kind): friends, followers, followed users. A list may hold three ids or ten million; a
 * change of one id reads and writes one chunk of it.
 *
 * Each (list, id) is one of four things, named by its tag:
 *
 *     ADJACENCY_NONE      nothing
 *     ADJACENCY_MEMBER    the id is on the list. Its stamp, a number that came with it (a time, say), is kept for a day or two,
 *                         and only where the options ask for it
 *     60 to 62            a marked member: on the list as any other, and with something that a product must remember about it. Mark
 *                         and stamp are kept beside the list for good
 *     1 to 59             an aside: something else that a product must remember about owner and id (a request, a block), kept
 *                         beside the list with its stamp
 *
 * The lists come from a compacted topic. adjacency_add queues a record; adjacency_apply writes the queue in one batch, together with
 * the offset up to which the store then reflects the topic, so that reading goes on from there after a crash. A partition's lists
 * are one family of the store ("friends-7"), its keys in this order. P is the owner (8 bytes), for kinds from 1 on also 0x80 + kind:
 *
 *     P                   the root: the number of asides, and 2^32 times that of marks (0 for most lists, which then need no
 *                         look-up), then the sorted ids as id_list.h encodes them. The root of a list that has outgrown one value:
 *                         0x80 0x00, the same number, number of ids, 0x80 (a varint cut short, so that a program that knows
 *                         no chunks takes the list for damaged)
 *     P id (8)            an aside: tag, stamp
 *     P 0x80 bound (8)    a chunk: the sorted ids up to `bound`, above the bound of the chunk before. The last one's is the
 *                         highest id there is, so that seeking an id finds its chunk
 *     P 0x80 0xc0 id (8)  a mark: tag, stamp. Not among the asides, of which there may be millions that others have made
 *     0xfe day (4) P id   stamps of members from when the family was built from the beginning
 *     0xff                what the family reflects: offset, time, number of partitions
 *
 * and one family ("late-NAME") holds the stamps that came later, of all partitions:
 *
 *     partition (4) day (4) P id
 *
 * Stamps are hardly ever read. If they lay beside the lists, most of RocksDB's merging and most keys in the way of a look-up would be
 * stamps; apart, the stamps of a day are dropped at once. Numbers are big-endian; owners and ids are at least 0, so their first byte
 * is below 0x80.
 *
 * A family that is read from the topic's beginning is built outside of the store: adjacency_apply sorts records into runs (runs.h), and
 * adjacency_finish merges the runs into sorted files, which the family ingests all at once with the offset that they reflect. Until
 * then the family cannot be read, and after a crash it is empty and says so.
 *
 * Functions return 0 or a negative errno. -EBADMSG: a list is damaged on disk; adjacency_rebuild and reading the topic from
 * its beginning mend it. -ESTALE: the partition is not attached. -EAGAIN: a worker is still building it. One thread, except where a
 * function says otherwise.
 */
#pragma once

#include "adjacency/id_list.h"
#include "base/error.h"
#include "store/store.h"

struct adjacency;
struct adjacency_build;

enum {
    ADJACENCY_NONE = 0,
    ADJACENCY_MARKED = 60, /* the first of the marked members' tags */
    ADJACENCY_MEMBER = 63,
    ADJACENCY_KINDS = 8,           /* at most */
    ADJACENCY_CHUNK = 1024,        /* unless the options say otherwise */
    ADJACENCY_FROM_BEGINNING = -2, /* an offset: the same as KAFKA_OFFSET_BEGINNING */
    ADJACENCY_MANY = STORE_MANY,
    ADJACENCY_DAY_MS = 86400000
};

static inline bool adjacency_is_member(uint8_t tag) { return tag >= ADJACENCY_MARKED; }

/* Which list is meant. */
struct adjacency_list {
    int64_t owner;
    int32_t partition;
    uint8_t kind;
};

struct adjacency_options {
    const char *path;   /* of the database */
    const char *name;   /* of the families */
    const char *stamps; /* the name of the members' stamps; NULL: none are kept */
    int32_t partitions;
    int kinds;
    size_t
        limits[ADJACENCY_KINDS]; /* members of a list of the kind, beyond which on_excess names the newest; 0: none */
    size_t
        chunk; /* ids in a chunk: split at twice as many, joined at a quarter. A list up to twice as long is one value */
    int64_t max_age_ms;  /* a family last written longer ago has missed tombstones and is dropped */
    size_t memory_bytes; /* of RocksDB, all included, and of families being built (a quarter of it); 0: 96 MiB */
    size_t build_bytes;  /* of runs in memory, of all families being built together; more goes to disk. 0: an eighth */
    void *context;
    /* An id has become a member, is no longer one, or has another mark: its tag as a member before and now, ADJACENCY_NONE if it was or
     * is none. Called after the change was written, and not while restoring. May be NULL. */
    void (*on_change)(void *context, struct adjacency_list list, int64_t id, uint8_t before, uint8_t now);
    /* This member takes the list beyond its limit. The stored offset does not pass this record's until adjacency_release allows
     * it. */
    void (*on_excess)(void *context, struct adjacency_list list, int64_t id, int64_t stamp, int64_t offset);
};

int adjacency_open(const struct adjacency_options *options, struct adjacency **adjacency, struct error *error);
void adjacency_close(
    struct adjacency *adjacency); /* NULL is fine; queued records are lost, and read again by their offset */

/* ---- partitions ---- */

/* Opens a partition's family. *from: the offset to go on reading from, ADJACENCY_FROM_BEGINNING for a family that is new or was
 * too old. Harmless when it is open. */
int adjacency_attach(struct adjacency *adjacency, int32_t partition, int64_t now_ms, int64_t *from,
                     struct error *error);
void adjacency_detach(struct adjacency *adjacency, int32_t partition);
int adjacency_rebuild(struct adjacency *adjacency, int32_t partition,
                      struct error *error); /* empties an attached one */

int64_t adjacency_next(const struct adjacency *adjacency,
                       int32_t partition); /* everything before is applied; -1: nothing */

/* The lowest offset of an excess that is not settled yet; INT64_MAX: none. */
void adjacency_release(struct adjacency *adjacency, int32_t partition, int64_t hold);

/* Writes the family's offset again, so that its age counts from now, and drops stamps that are too old to be of use. */
int adjacency_touch(struct adjacency *adjacency, int32_t partition, int64_t now_ms, struct error *error);

/* ---- writing ---- */

/* Queues one record of an attached partition: the id has this tag on the list from now on. */
void adjacency_add(struct adjacency *adjacency, struct adjacency_list list, int64_t id, uint8_t tag, int64_t stamp,
                   int64_t offset);
size_t adjacency_queued(const struct adjacency *adjacency, int32_t partition);

/* Writes the queued records, and that the store reflects everything before `next`; it reads and writes a list or chunk once for all its
 * changes. restoring: makes no callback, and keeps no stamp that is older than a day. A family that is being built keeps the records
 * for later; if not restoring, it is finished first. While a worker is finishing it, the call does nothing: the records stay in the
 * queue, and the caller must not count them as applied. */
int adjacency_apply(struct adjacency *adjacency, int32_t partition, int64_t next, int64_t now_ms, bool restoring,
                    struct error *error);

/* ---- building ---- */

/* The family is being built: it has records, or a worker has it. It must be finished before it can be read. */
bool adjacency_building(const struct adjacency *adjacency, int32_t partition);
bool adjacency_finishing(const struct adjacency *adjacency,
                         int32_t partition); /* between adjacency_finish_begin and _end */

/* Finishes a family, so that it can be read. Takes a second for a million records; harmless when the family is not being built. Calls
 * on_excess at its end. */
int adjacency_finish(struct adjacency *adjacency, int32_t partition, int64_t now_ms, struct error *error);

/* The same in three steps, the second on a worker thread while everything else is used as always. The family may be detached,
 * attached again or rebuilt in between. NULL: there is nothing to finish. */
struct adjacency_build *adjacency_finish_begin(struct adjacency *adjacency, int32_t partition, int64_t now_ms);
int adjacency_finish_run(struct adjacency_build *build, struct error *error);
int adjacency_finish_end(struct adjacency_build *build, int code, struct error *error); /* code: what run returned */

/* ---- reading ---- */

/* All members, and the numbers of asides and marks. For lists that are one value this is one look-up without allocation, once `ids` has
 * grown; a long list is read whole. */
int adjacency_members(struct adjacency *adjacency, struct adjacency_list list, struct id_list *ids,
                      struct error *error);

/* The same for several owners of a partition, in rising order, each named once; cheaper than one by one. One list for each owner; the
 * lists are undefined after a failure. */
int adjacency_members_many(struct adjacency *adjacency, int32_t partition, uint8_t kind, const int64_t *owners,
                           size_t count, struct id_list *lists, struct error *error);

/* The members above `after` that lie together: of one chunk, or of a list that is one value. Empty only at the end; the last
 * one is the next call's `after`. Begins with -1. */
int adjacency_slice(struct adjacency *adjacency, struct adjacency_list list, int64_t after, struct id_list *ids,
                    struct error *error);

/* How many members the list has, as it is kept: one look-up, however long the list is. */
int adjacency_count(struct adjacency *adjacency, struct adjacency_list list, size_t *members, struct error *error);

/* One id of a list. */
struct adjacency_entry {
    int64_t id, stamp; /* stamp of a member: 0 where it is not kept */
    uint8_t tag;
    bool stamped; /* the stamp is known */
};

/* Finds one entry, by reading the root, one chunk of a long list, and aside or stamp if there is one. members: how many the list has;
 * may be NULL. */
int adjacency_find(struct adjacency *adjacency, struct adjacency_list list, int64_t id, struct adjacency_entry *entry,
                   size_t *members, struct error *error);

/* The same for a list whose members the caller has just read (adjacency_members; nothing was applied since). with_stamp: also looks up
 * the stamp of a member. */
int adjacency_find_beside(struct adjacency *adjacency, struct adjacency_list list, const struct id_list *members,
                          int64_t id, bool with_stamp, struct adjacency_entry *entry, struct error *error);

/* The marked members of a list whose members the caller has just read, by id. A list without marks costs nothing. */
struct adjacency_entries { /* zero-initialised is empty; reused without allocation once it is large enough */
    struct adjacency_entry *items;
    size_t count, capacity;
};
void adjacency_entries_free(struct adjacency_entries *entries);
int adjacency_marked(struct adjacency *adjacency, struct adjacency_list list, const struct id_list *members,
                     struct adjacency_entries *entries, struct error *error);

/* A page of a list's entries with one of `tags` (bits UINT64_C(1) << tag; that of ADJACENCY_MEMBER is for marked ones, too, theirs are
 * for none), members and asides together, by id, those above `after`. A page reads the chunks that it needs, and walks through each day's stamps once. more: there are others behind. */
int adjacency_page(struct adjacency *adjacency, struct adjacency_list list, uint64_t tags, int64_t after,
                   struct adjacency_entry *entries, size_t limit, size_t *count, bool *more, struct error *error);

/* ---- the store ---- */

/* All families as they are, each with the offset that it reflects (store_checkpoint). On a worker thread. */
int adjacency_checkpoint(struct adjacency *adjacency, const char *path, struct error *error);

/* Writes the family out and merges it fully, so that it takes no more disk than it needs. May take long. */
int adjacency_compact(struct adjacency *adjacency, int32_t partition, struct error *error);

struct adjacency_usage {
    struct store_usage store;
    size_t build; /* bytes: runs in memory, and queues */
};
struct adjacency_usage adjacency_used(struct adjacency *adjacency);
