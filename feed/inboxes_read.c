#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "feed/inboxes_private.h"

/* ---- what the store has of a reader ---- */

static int damaged(int64_t reader, struct error *error) {
    return error_set(error, -EBADMSG, "the inbox of reader %" PRId64 " is damaged", reader);
}

static bool at_chunk(const struct store_cursor *cursor, const uint8_t from[INBOX_KEY]) {
    size_t size;
    if (!store_cursor_valid(cursor)) return false;
    const uint8_t *key = store_cursor_key(cursor, &size);
    return size == CHUNK_KEY && !memcmp(key, from, INBOX_KEY);
}

/* Chunks in their order: applied to the inbox, and deleted by the batch; NULL: not. */
static int walk_chunks(struct inboxes *inboxes, const struct inboxes_part *part, int64_t reader, struct inbox *inbox,
                       size_t *chunks, struct store_batch *deleted, struct error *error) {
    struct store_cursor *cursor = store_cursor_new(inboxes->options.store, part->family);
    uint8_t from[INBOX_KEY];
    int code = 0;
    inbox_key_write(from, INBOX_KEY_CHUNK, reader);
    inboxes->gathered.count = 0;
    for (store_cursor_seek(cursor, from, sizeof from); !code && at_chunk(cursor, from); store_cursor_next(cursor)) {
        size_t key_size, size;
        const uint8_t *key = store_cursor_key(cursor, &key_size), *value = store_cursor_value(cursor, &size);
        if (inbox) code = inbox_log_apply(inbox, value, size, inboxes->options.max, &inboxes->gathered);
        if (code) damaged(reader, error);
        if (deleted) store_batch_delete(deleted, part->family, key, key_size);
        ++*chunks;
    }
    if (!code) code = store_cursor_error(cursor, error);
    if (!code && inbox) inbox_log_settle(inbox, inboxes->options.max, &inboxes->gathered);
    store_cursor_free(cursor);
    return code;
}

int inboxes_load(struct inboxes *inboxes, const struct inboxes_part *part, const struct inbox_reader *slot,
                 int64_t reader, size_t newest, struct inbox *inbox, size_t *chunks, struct store_batch *deleted,
                 struct error *error) {
    uint8_t key[INBOX_KEY];
    struct store_pin pin = {.handle = NULL};
    inbox_key_write(key, INBOX_KEY_BASE, reader);
    *chunks = 0;
    inbox_clear(inbox);
    int code = store_get_pinned(inboxes->options.store, part->family, key, sizeof key, &pin, error);
    if (code < 0) return code;
    if (code) code = inbox_read(inbox, pin.data, pin.size, newest);
    store_pin_release(&pin);
    if (code || inbox->request < 0) return damaged(reader, error);
    if (slot && !slot->weight) return 0;
    return walk_chunks(inboxes, part, reader, inbox, chunks, deleted, error);
}

int inboxes_delete_chunks(struct inboxes *inboxes, const struct inboxes_part *part, const struct inbox_reader *slot,
                          int64_t reader, struct store_batch *batch, struct error *error) {
    size_t chunks = 0;
    return slot && !slot->weight ? 0 : walk_chunks(inboxes, part, reader, NULL, &chunks, batch, error);
}

void inboxes_put_merged(struct inboxes *inboxes, const struct inboxes_part *part, int64_t reader,
                        const struct inbox *inbox, struct store_batch *batch) {
    uint8_t key[INBOX_KEY];
    inbox_key_write(key, INBOX_KEY_BASE, reader);
    buffer_clear(&inboxes->bytes);
    inbox_write(inbox, &inboxes->bytes);
    store_batch_put(batch, part->family, key, sizeof key, inboxes->bytes.data, inboxes->bytes.size);
    inboxes->merges++;
}

/* ---- a page ---- */

/* A page reads what the store has as it is, unless there are many chunks: then it merges them, for the next one. */
static int load_for_page(struct inboxes *inboxes, const struct inboxes_part *part, struct inbox_reader *slot,
                         int64_t reader, size_t newest, struct inbox *inbox, struct error *error) {
    size_t chunks;
    int code = inboxes_load(inboxes, part, slot, reader, newest, inbox, &chunks, NULL, error);
    if (!code && !chunks) slot->weight = 0;
    if (code || chunks <= CHUNKS_OF_PAGE || inboxes->failed) return code;
    struct store_batch *batch = store_batch_new();
    code = inboxes_load(inboxes, part, slot, reader, SIZE_MAX, inbox, &chunks, batch, error);
    if (!code) inboxes_put_merged(inboxes, part, reader, inbox, batch);
    if (!code) code = store_write(inboxes->options.store, batch, false, error);
    if (!code) slot->weight = 0;
    store_batch_free(batch);
    return code;
}

/* ---- rows in memory: how many posts the page wanted (4 bytes; WHOLE: all that there are), and the inbox's bytes ---- */

enum { ROW_HEAD = 4, ROW_POSTS = 400 /* that a page of 100 wants */ };
#define WHOLE UINT32_MAX

struct recent_key inboxes_row_key(const struct inboxes *inboxes, const struct inboxes_part *part, int64_t reader) {
    return (struct recent_key){.reader = reader, .partition = (int32_t)(part - inboxes->parts)};
}

/* Keeps the newest posts, as many as were wanted: chunks may have brought many more. */
static void keep_row(struct inboxes *inboxes, const struct inboxes_part *part, int64_t reader, size_t newest,
                     const struct inbox *inbox) {
    struct buffer *bytes = &inboxes->bytes;
    struct inbox kept = *inbox;
    size_t most = newest < ROW_POSTS ? newest : ROW_POSTS;
    if (!newest || !recent_largest(inboxes->rows)) return;
    inbox_cut(&kept, most);
    buffer_clear(bytes);
    bytes_put_be32(buffer_reserve(bytes, ROW_HEAD), kept.cut ? (uint32_t)most : WHOLE);
    buffer_commit(bytes, ROW_HEAD);
    inbox_write(&kept, bytes);
    recent_put(inboxes->rows, inboxes_row_key(inboxes, part, reader), bytes->data, bytes->size);
}

/* False: no row holds enough. */
static bool read_row(struct inboxes *inboxes, const struct inboxes_part *part, int64_t reader, size_t newest,
                     struct inbox *inbox) {
    size_t size;
    const uint8_t *row = recent_find(inboxes->rows, inboxes_row_key(inboxes, part, reader), &size);
    bool cut = row && bytes_get_be32(row) != WHOLE;
    if (!row || (cut && newest > bytes_get_be32(row))) return false;
    inbox_read(inbox, row + ROW_HEAD, size - ROW_HEAD, newest); // our own bytes
    inbox->cut |= cut;
    return true;
}

/* Reads the row of the reader: from memory if a page has read it lately, else from the store. */
static int look_up(struct inboxes *inboxes, const struct inboxes_part *part, struct inbox_reader *slot, int64_t reader,
                   size_t newest, struct inbox *inbox, struct error *error) {
    if (read_row(inboxes, part, reader, newest, inbox)) return 0;
    int code = load_for_page(inboxes, part, slot, reader, newest, inbox, error);
    if (!code) keep_row(inboxes, part, reader, newest, inbox);
    return code;
}

int inboxes_find(struct inboxes *inboxes, int32_t partition, int64_t reader, size_t newest, struct inbox *inbox,
                 struct error *error) {
    struct inboxes_part *part = &inboxes->parts[partition];
    struct inbox_reader *slot = reader < 0 ? NULL : id_table_find(&part->readers, reader);
    const struct inbox_lot *lots[] = {&part->open, &part->sealed};
    struct inbox_past pasts[2] = {{.events = NULL}, {.events = NULL}};
    int code = 0;
    size_t lot = 0;
    bool resets = false;
    inbox_clear(inbox);
    if (!slot) return 0;
    // From the newest back to where the inbox began, if that is not in the store. Sealed events may be in the store already: it
    // is applied again.
    for (; lot < 2 && !resets; lot++) {
        inbox_lot_past(lots[lot], reader, &pasts[lot]);
        resets = pasts[lot].count && inbox_event_resets(inbox_past_first(lots[lot], &pasts[lot]));
    }
    if (!resets) code = look_up(inboxes, part, slot, reader, newest, inbox, error);
    while (!code && lot--) inbox_past_apply(lots[lot], &pasts[lot], inbox, inboxes->options.max, &inboxes->gathered);
    inbox_past_free(&pasts[0]);
    inbox_past_free(&pasts[1]);
    return code;
}
