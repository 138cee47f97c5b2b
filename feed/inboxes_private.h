/* Shared by feed/inboxes*.c. */
#pragma once

#include "feed/inbox_lot.h"
#include "feed/inboxes.h"
#include "feed/recent.h"

/* A reader who has an inbox, in the store or in memory. */
struct __attribute__((packed)) inbox_reader {
    uint64_t key;
    uint32_t opened; /* inbox_second of the newest Begin */
    uint8_t weight;  /* of the chunks in the store: 0: there are none; grows until they are merged */
};

struct inboxes_part {
    struct store_family *family; /* NULL: not attached */
    int64_t stored, next;        /* offsets */
    uint32_t number;             /* of the newest chunks */
    struct id_table readers;
    struct inbox_lot open, sealed; /* sealed: is being written, and takes no more */
    bool writing;
    int64_t sealed_next; /* open and sealed part here */
    size_t at;           /* readers of the sealed lot before are written */
    int64_t newest_ms;   /* the time of the newest record that was taken; 0: none yet */
};

struct inboxes {
    struct inboxes_options options;
    struct inboxes_part *parts;
    int32_t at;       /* the partition to write next */
    int32_t sweeping; /* the partition that is swept, and its next slot */
    size_t swept;
    int failed;        /* what a write failed with */
    unsigned merge_at; /* weight */
    size_t waiting;    /* bytes of all lots */
    bool crowded;
    uint64_t taken, dropped, chunks, merges;
    struct recent *rows; /* what inboxes_load has found, as pages need it */
    struct store_batch *batch;
    struct buffer bytes; /* scratch, as the rest */
    struct inbox inbox;
    struct inbox_gathered gathered;
    struct inbox_past past;
};

enum { INBOX_KEY = 9, CHUNK_KEY = 13, META_VERSION = 1, META_SIZE = 17, CHUNKS_OF_PAGE = 8, NEW_WEIGHT = 1 };
enum inbox_key_kind { INBOX_KEY_BASE = 1, INBOX_KEY_CHUNK = 2, INBOX_KEY_READER = 3, INBOX_KEY_META = 0xff };

void inbox_key_write(uint8_t *key, enum inbox_key_kind kind, int64_t reader); /* INBOX_KEY bytes */

/* Reads a reader's part of the store. slot: NULL: not known. chunks: how many there were besides the merged inbox; deleted: the batch
 * deletes those, NULL: they stay. */
int inboxes_load(struct inboxes *inboxes, const struct inboxes_part *part, const struct inbox_reader *slot,
                 int64_t reader, size_t newest, struct inbox *inbox, size_t *chunks, struct store_batch *deleted,
                 struct error *error);

/* The batch deletes the reader's chunks. */
int inboxes_delete_chunks(struct inboxes *inboxes, const struct inboxes_part *part, const struct inbox_reader *slot,
                          int64_t reader, struct store_batch *batch, struct error *error);

struct recent_key inboxes_row_key(const struct inboxes *inboxes, const struct inboxes_part *part, int64_t reader);

void inboxes_put_merged(struct inboxes *inboxes, const struct inboxes_part *part, int64_t reader,
                        const struct inbox *inbox, struct store_batch *batch);
