#include "feed/inboxes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "feed/inboxes_private.h"

enum { PREFETCHED = 8, EVENT_BYTES = 11, MERGE_SHARE = 224 /* 3.5 times the bytes of a unit of weight */ };

struct inboxes *inboxes_new(const struct inboxes_options *options) {
    struct inboxes *inboxes = mem_alloc(sizeof *inboxes);
    // Chunks are merged when they hold less than a third of an inbox, or are some 40: an inbox is rewritten for hundreds of pushes.
    size_t merge_at = options->max * EVENT_BYTES / MERGE_SHARE;
    *inboxes = (struct inboxes){
        .options = *options,
        .parts = mem_zero((size_t)options->partitions, sizeof *inboxes->parts),
        .merge_at = merge_at < 4     ? 4
                    : merge_at > 250 ? 250
                                     : (unsigned)merge_at,
        .rows = recent_new(options->cache_bytes, options->partitions),
        .batch = store_batch_new(),
        .inbox = {.request = -1},
    };
    return inboxes;
}

struct feed *inboxes_feed(const void *inboxes) {
    return ((const struct inboxes *)inboxes)->options.feed;
}

static void part_free(struct inboxes *inboxes, struct inboxes_part *part) {
    inboxes->waiting -= inbox_lot_bytes(&part->open) + inbox_lot_bytes(&part->sealed);
    inbox_lot_free(&part->open);
    inbox_lot_free(&part->sealed);
    id_table_free(&part->readers);
    recent_drop_all(inboxes->rows, (int32_t)(part - inboxes->parts));
    *part = (struct inboxes_part){.family = NULL};
}

void inboxes_free(struct inboxes *inboxes) {
    if (!inboxes) return;
    for (int32_t p = 0; p < inboxes->options.partitions; p++) part_free(inboxes, &inboxes->parts[p]);
    free(inboxes->parts);
    recent_free(inboxes->rows);
    store_batch_free(inboxes->batch);
    buffer_free(&inboxes->bytes);
    inbox_free(&inboxes->inbox);
    inbox_gathered_free(&inboxes->gathered);
    inbox_past_free(&inboxes->past);
    free(inboxes);
}

/* ---- opening ---- */

void inbox_key_write(uint8_t *key, enum inbox_key_kind kind, int64_t reader) {
    key[0] = (uint8_t)kind;
    bytes_put_be64(key + 1, (uint64_t)reader);
}

/* An empty part of this family. */
static void part_begin(struct inboxes *inboxes, struct inboxes_part *part, struct store_family *family) {
    part_free(inboxes, part);
    *part = (struct inboxes_part){
        .family = family,
        .stored = -1,
        .next = -1,
        .readers = {.size = sizeof(struct inbox_reader)},
        .open = {.heads = {.size = sizeof(struct inbox_head)}},
        .sealed = {.heads = {.size = sizeof(struct inbox_head)}},
    };
}

static int open_family(struct inboxes *inboxes, int32_t partition, bool anew, struct store_family **family,
                       struct error *error) {
    char *name = mem_format("inbox-%d", partition);
    int code = anew ? store_family_drop(inboxes->options.store, name, error) : 0;
    if (!code) code = store_family(inboxes->options.store, name, family, error);
    free(name);
    return code;
}

int inboxes_reset(void *store, int32_t partition, int64_t now_ms, struct error *error) {
    struct inboxes *inboxes = store;
    struct inboxes_part *part = &inboxes->parts[partition];
    int code = open_family(inboxes, partition, true, &part->family, error);
    if (code)
        part_free(inboxes, part);
    else
        part_begin(inboxes, part, part->family);
    return code;
}

/* 1: the family is of use; 0: it is not: nothing was ever written, or not to the end. */
static int read_meta(struct inboxes *inboxes, struct inboxes_part *part, struct error *error) {
    const uint8_t key = INBOX_KEY_META;
    struct buffer *bytes = &inboxes->bytes;
    int found = store_get(inboxes->options.store, part->family, &key, 1, bytes, error);
    if (found <= 0) return found;
    const uint8_t *value = bytes->data;
    if (bytes->size != META_SIZE || value[0] != META_VERSION) return 0;
    if (bytes_get_be32(value + 1) != (uint32_t)inboxes->options.partitions) return 0; // other readers live here now
    part->number = bytes_get_be32(value + 5);
    part->stored = part->next = (int64_t)bytes_get_be64(value + 9);
    return 1;
}

/* Remembers that a reader has an inbox. A former one, or its chunks, may be in the store. */
static void know_reader(struct inboxes_part *part, int64_t reader, uint32_t opened) {
    bool created;
    struct inbox_reader *slot = id_table_put(&part->readers, reader, &created);
    slot->opened = opened;
    if (created) slot->weight = NEW_WEIGHT;
}

static int read_readers(struct inboxes *inboxes, struct inboxes_part *part, struct error *error) {
    struct store_cursor *cursor = store_cursor_new(inboxes->options.store, part->family);
    const uint8_t from = INBOX_KEY_READER;
    int code = 0;
    for (store_cursor_seek(cursor, &from, 1); !code && store_cursor_valid(cursor); store_cursor_next(cursor)) {
        size_t key_size, size;
        const uint8_t *key = store_cursor_key(cursor, &key_size), *value = store_cursor_value(cursor, &size);
        if (key[0] != INBOX_KEY_READER) break;
        if (key_size == INBOX_KEY && key[1] < 0x80 && size == sizeof(uint32_t))
            know_reader(part, (int64_t)bytes_get_be64(key + 1), bytes_get_be32(value));
        else
            code = error_set(error, -EBADMSG, "the list of inboxes is damaged");
    }
    if (!code) code = store_cursor_error(cursor, error);
    store_cursor_free(cursor);
    return code;
}

int inboxes_open(void *store, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error) {
    struct inboxes *inboxes = store;
    struct inboxes_part *part = &inboxes->parts[partition];
    struct store_family *family = NULL;
    int code = open_family(inboxes, partition, false, &family, error);
    if (code) return code;
    part_begin(inboxes, part, family);
    int usable = read_meta(inboxes, part, error);
    if (usable == 0) return inboxes_reset(inboxes, partition, now_ms, error);
    code = usable < 0 ? usable : read_readers(inboxes, part, error);
    if (code) part_free(inboxes, part);
    return code;
}

void inboxes_close(void *store, int32_t partition) {
    struct inboxes *inboxes = store;
    part_free(inboxes, &inboxes->parts[partition]);
}

int64_t inboxes_next(const void *inboxes, int32_t partition, size_t topic) {
    return ((const struct inboxes *)inboxes)->parts[partition].stored;
}

bool inboxes_lost(void *inboxes, int32_t partition, size_t topic) {
    struct error error;
    return !inboxes_reset(inboxes, partition, 0, &error);
}

/* ---- taking ---- */

static uint32_t none_event(struct inbox_lot *lot, struct buffer *scratch) {
    buffer_clear(scratch);
    inbox_log_none(scratch);
    return inbox_lot_event(lot, scratch->data, scratch->size);
}

static void give_up(struct inboxes *inboxes, struct inboxes_part *part, struct inbox_reader *slot, int64_t reader) {
    id_table_remove(&part->readers, slot);
    inbox_lot_add(&part->open, reader, none_event(&part->open, &inboxes->bytes), true);
}

/* Adds an event to what happened to a reader. False: there is no inbox, perhaps no longer. */
static bool take_one(struct inboxes *inboxes, struct inboxes_part *part, int64_t reader, int64_t time_ms,
                     uint32_t event) {
    struct inbox_reader *slot = id_table_find(&part->readers, reader);
    if (slot && !inbox_away(slot->opened, time_ms, inboxes->options.away_ms)) {
        inbox_lot_add(&part->open, reader, event, false);
        return true;
    }
    if (slot) give_up(inboxes, part, slot, reader);
    return false;
}

static bool begin_one(struct inboxes_part *part, int64_t reader, int64_t time_ms, uint32_t event) {
    know_reader(part, reader, inbox_second(time_ms));
    inbox_lot_add(&part->open, reader, event, true);
    return true;
}

/* Slots are fetched some readers before they are needed. */
static void take_all(struct inboxes *inboxes, struct inboxes_part *part, int64_t time_ms, const int64_t *readers,
                     size_t count, bool begins, uint32_t event) {
    for (size_t i = 0; i < count + PREFETCHED; i++) {
        if (i < count) {
            id_table_prefetch(&part->readers, readers[i]);
            id_table_prefetch(&part->open.heads, readers[i]);
        }
        if (i < PREFETCHED || readers[i - PREFETCHED] < 0) continue;
        int64_t reader = readers[i - PREFETCHED];
        bool taken = begins ? begin_one(part, reader, time_ms, event) : take_one(inboxes, part, reader, time_ms, event);
        inboxes->taken += taken;
        inboxes->dropped += !taken;
    }
}

void inboxes_take(struct inboxes *inboxes, int32_t partition, int64_t offset, int64_t time_ms, const int64_t *readers,
                  size_t count, const struct timeline_item *item) {
    struct inboxes_part *part = &inboxes->parts[partition];
    if (offset < part->next || !inbox_log_takes(item->kind)) return;
    size_t before = inbox_lot_bytes(&part->open);
    if (time_ms > part->newest_ms) part->newest_ms = time_ms;
    buffer_clear(&inboxes->bytes);
    inbox_log_item(&inboxes->bytes, item, offset, time_ms);
    uint32_t event = inbox_lot_event(&part->open, inboxes->bytes.data, inboxes->bytes.size);
    take_all(inboxes, part, time_ms, readers, count, item->kind == TIMELINE_ITEM_BEGIN, event);
    inboxes->waiting += inbox_lot_bytes(&part->open) - before;
    inboxes->crowded |= inbox_lot_crowded(&part->open);
}

void inboxes_read_to(struct inboxes *inboxes, int32_t partition, int64_t next) {
    struct inboxes_part *part = &inboxes->parts[partition];
    if (next > part->next) part->next = next;
}

bool inboxes_has(const struct inboxes *inboxes, int32_t partition, int64_t offset) {
    return offset < inboxes->parts[partition].next;
}

/* The slots from `swept` on. Returns how many it has looked at. */
static size_t sweep_part(struct inboxes *inboxes, struct inboxes_part *part, size_t slots) {
    size_t first = inboxes->swept, before = inbox_lot_bytes(&part->open), looked_at = 0;
    struct inbox_reader *slot;
    for (; looked_at < slots && (slot = id_table_next(&part->readers, &inboxes->swept)); looked_at++) {
        if (!inbox_away(slot->opened, part->newest_ms, inboxes->options.away_ms)) continue;
        give_up(inboxes, part, slot, id_table_id(slot));
        inboxes->swept--; // the one behind it may have moved to its place
    }
    inboxes->waiting += inbox_lot_bytes(&part->open) - before;
    inboxes->crowded |= inbox_lot_crowded(&part->open);
    size_t passed = inboxes->swept > first ? inboxes->swept - first : 0;
    return passed > looked_at ? passed : looked_at;
}

void inboxes_sweep(struct inboxes *inboxes, size_t slots) {
    for (int32_t turns = 0; slots && turns < inboxes->options.partitions;) {
        struct inboxes_part *part = &inboxes->parts[inboxes->sweeping];
        size_t looked_at = part->family ? sweep_part(inboxes, part, slots) : 0;
        slots -= looked_at < slots ? looked_at : slots;
        if (part->family && inboxes->swept < part->readers.end) continue;
        inboxes->swept = 0;
        inboxes->sweeping = (inboxes->sweeping + 1) % inboxes->options.partitions;
        turns++;
    }
}

/* ---- how much there is ---- */

struct inboxes_usage inboxes_used(const struct inboxes *inboxes) {
    struct inboxes_usage usage = {.bytes = inboxes->waiting,
                                  .taken = inboxes->taken,
                                  .dropped = inboxes->dropped,
                                  .chunks = inboxes->chunks,
                                  .merges = inboxes->merges,
                                  .cache = recent_used(inboxes->rows)};
    for (int32_t p = 0; p < inboxes->options.partitions; p++) {
        const struct inboxes_part *part = &inboxes->parts[p];
        usage.inboxes += part->readers.count;
        usage.table_bytes += id_table_bytes(&part->readers);
        usage.readers += part->open.heads.count + part->sealed.heads.count;
    }
    return usage;
}

bool inboxes_full(const struct inboxes *inboxes) {
    return inboxes->crowded || inboxes->waiting >= inboxes->options.memory_bytes;
}

bool inboxes_unwritten(const struct inboxes *inboxes) {
    for (int32_t p = 0; p < inboxes->options.partitions; p++)
        if (inboxes->parts[p].next >= 0 && inboxes->parts[p].stored < 0 && inboxes->parts[p].family) return true;
    return false;
}

bool inboxes_wants_begin(const struct inboxes *inboxes, const struct inbox *inbox, int64_t now_ms) {
    return inbox->request < 0 || now_ms - inbox->opened_ms > inboxes->options.away_ms / 2;
}
