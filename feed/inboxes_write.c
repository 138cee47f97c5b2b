#include "base/bytes.h"
#include "feed/inboxes_private.h"

enum { WEIGHT_BYTES = 64 }; /* of chunks */
enum { MERGE_COST = 50 };   /* an inbox that is read and written anew takes as long as so many chunks */

static void put_meta(struct inboxes *inboxes, const struct inboxes_part *part) {
    const uint8_t key = INBOX_KEY_META;
    uint8_t value[META_SIZE] = {META_VERSION};
    bytes_put_be32(value + 1, (uint32_t)inboxes->options.partitions);
    bytes_put_be32(value + 5, part->number);
    bytes_put_be64(value + 9, (uint64_t)part->sealed_next);
    store_batch_put(inboxes->batch, part->family, &key, 1, value, sizeof value);
}

/* ---- one reader ---- */

static void put_chunk(struct inboxes *inboxes, const struct inboxes_part *part, struct inbox_reader *slot,
                      int64_t reader) {
    uint8_t key[CHUNK_KEY];
    inbox_key_write(key, INBOX_KEY_CHUNK, reader);
    bytes_put_be32(key + INBOX_KEY, part->number);
    buffer_clear(&inboxes->bytes);
    inboxes->gathered.count = 0;
    inbox_past_write(&part->sealed, &inboxes->past, &inboxes->bytes, &inboxes->gathered);
    store_batch_put(inboxes->batch, part->family, key, sizeof key, inboxes->bytes.data, inboxes->bytes.size);
    inboxes->chunks++;
    if (!slot) return; // it ends in the open lot
    size_t weight = slot->weight + 1 + inboxes->bytes.size / WEIGHT_BYTES;
    slot->weight = weight < UINT8_MAX ? (uint8_t)weight : UINT8_MAX;
}

static void put_reader(struct inboxes *inboxes, const struct inboxes_part *part, int64_t reader,
                       const struct inbox *inbox) {
    uint8_t key[INBOX_KEY], value[4];
    inbox_key_write(key, INBOX_KEY_READER, reader);
    bytes_put_be32(value, inbox_second(inbox->opened_ms));
    store_batch_put(inboxes->batch, part->family, key, sizeof key, value, sizeof value);
}

static void delete_inbox(struct inboxes *inboxes, const struct inboxes_part *part, int64_t reader) {
    uint8_t key[INBOX_KEY];
    inbox_key_write(key, INBOX_KEY_BASE, reader);
    store_batch_delete(inboxes->batch, part->family, key, sizeof key);
    inbox_key_write(key, INBOX_KEY_READER, reader);
    store_batch_delete(inboxes->batch, part->family, key, sizeof key);
}

/* The inbox began anew, or is no more: nothing of the former one stays. */
static int write_anew(struct inboxes *inboxes, const struct inboxes_part *part, struct inbox_reader *slot,
                      int64_t reader, struct error *error) {
    struct inbox *inbox = &inboxes->inbox;
    int code = inboxes_delete_chunks(inboxes, part, slot, reader, inboxes->batch, error);
    if (code) return code;
    inbox_clear(inbox);
    inbox_past_apply(&part->sealed, &inboxes->past, inbox, inboxes->options.max, &inboxes->gathered);
    if (inbox->request < 0) {
        delete_inbox(inboxes, part, reader);
    } else {
        inboxes_put_merged(inboxes, part, reader, inbox, inboxes->batch);
        put_reader(inboxes, part, reader, inbox);
    }
    if (slot) slot->weight = 0;
    return 0;
}

static int write_merged(struct inboxes *inboxes, const struct inboxes_part *part, struct inbox_reader *slot,
                        int64_t reader, struct error *error) {
    struct inbox *inbox = &inboxes->inbox;
    size_t chunks;
    int code = inboxes_load(inboxes, part, slot, reader, SIZE_MAX, inbox, &chunks, inboxes->batch, error);
    if (code) return code;
    inbox_past_apply(&part->sealed, &inboxes->past, inbox, inboxes->options.max, &inboxes->gathered);
    inboxes_put_merged(inboxes, part, reader, inbox, inboxes->batch);
    slot->weight = 0;
    return 0;
}

/* *cost: the share of the slice that the reader takes. */
static int write_reader(struct inboxes *inboxes, struct inboxes_part *part, const struct inbox_head *head, size_t *cost,
                        struct error *error) {
    int64_t reader = id_table_id(head);
    struct inbox_reader *slot = id_table_find(&part->readers, reader);
    recent_drop(inboxes->rows, inboxes_row_key(inboxes, part, reader));
    inbox_lot_past(&part->sealed, reader, &inboxes->past);
    if (inbox_event_resets(inbox_past_first(&part->sealed, &inboxes->past)))
        return write_anew(inboxes, part, slot, reader, error);
    *cost = slot && slot->weight >= inboxes->merge_at ? MERGE_COST : 1;
    if (*cost > 1) return write_merged(inboxes, part, slot, reader, error);
    put_chunk(inboxes, part, slot, reader);
    return 0;
}

/* ---- one partition, and all of them ---- */

/* After a torn write its chunks are there, and their number comes again: one that is written over, or stays, holds what is read again. */
static void begin_part(struct inboxes *inboxes, struct inboxes_part *part) {
    part->sealed = part->open;
    part->open = (struct inbox_lot){.heads = {.size = sizeof(struct inbox_head)}};
    part->sealed_next = part->next;
    part->at = 0;
    part->number++;
    part->writing = true;
    inboxes->crowded = false;
}

static int write_part(struct inboxes *inboxes, struct inboxes_part *part, size_t *slice, struct error *error) {
    struct inbox_head *head;
    while (*slice && (head = id_table_next(&part->sealed.heads, &part->at))) {
        size_t cost = 1;
        int code = write_reader(inboxes, part, head, &cost, error);
        if (code) return code;
        *slice -= cost < *slice ? cost : *slice;
    }
    if (!*slice) return 0;
    put_meta(inboxes, part);
    part->writing = false;
    part->stored = part->sealed_next;
    inboxes->waiting -= inbox_lot_bytes(&part->sealed);
    inbox_lot_free(&part->sealed);
    return 0;
}

static bool has_news(const struct inboxes_part *part) {
    return part->family && (part->writing || part->open.heads.count || part->next != part->stored);
}

int inboxes_write(struct inboxes *inboxes, size_t slice, struct error *error) {
    int code = inboxes->failed;
    if (code) return error_set(error, code, "an earlier write of inboxes has failed");
    store_batch_clear(inboxes->batch);
    while (!code && slice && inboxes->at < inboxes->options.partitions) {
        struct inboxes_part *part = &inboxes->parts[inboxes->at];
        if (has_news(part)) {
            if (!part->writing) begin_part(inboxes, part);
            code = write_part(inboxes, part, &slice, error);
        }
        if (!part->writing) inboxes->at++;
    }
    if (!code && store_batch_count(inboxes->batch))
        code = store_write(inboxes->options.store, inboxes->batch, false, error);
    inboxes->failed = code;
    if (code || inboxes->at < inboxes->options.partitions) return code ? code : 1;
    inboxes->at = 0;
    return 0;
}
