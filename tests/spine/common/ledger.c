#include "ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "store/store.h"

struct page {
    struct store_family *family; /* NULL: never attached */
    int64_t next;
};

struct ledger {
    struct store *store;
    struct store_batch *batch;
    struct page *pages; /* by partition */
    struct buffer value;
};

static const uint8_t NEXT[] = {0}; /* key of the offset: no name is so */

int ledger_open(const char *path, int32_t partitions, struct ledger **out, struct error *error) {
    struct store_options options = {.cache_bytes = 8 << 20, .memtable_bytes = 8 << 20, .point_lookups = true};
    struct store *store;
    int code = store_open(path, &options, &store, error);
    if (code) return code;
    struct ledger *ledger = mem_alloc(sizeof *ledger);
    *ledger = (struct ledger){
        .store = store, .batch = store_batch_new(), .pages = mem_zero((size_t)partitions, sizeof *ledger->pages)};
    *out = ledger;
    return 0;
}

void ledger_close(struct ledger *ledger) {
    if (!ledger) return;
    store_batch_free(ledger->batch);
    store_close(ledger->store);
    buffer_free(&ledger->value);
    free(ledger->pages);
    free(ledger);
}

int ledger_attach(struct ledger *ledger, int32_t partition, struct error *error) {
    struct page *page = &ledger->pages[partition];
    char name[16];
    snprintf(name, sizeof name, "p%d", (int)partition);
    int code = store_family(ledger->store, name, &page->family, error);
    if (code) return code;
    code = store_get(ledger->store, page->family, NEXT, sizeof NEXT, &ledger->value, error);
    if (code < 0) return code;
    page->next = code && ledger->value.size == 8 ? (int64_t)bytes_get_be64(ledger->value.data) : -1;
    return 0;
}

int ledger_reset(struct ledger *ledger, int32_t partition, struct error *error) {
    char name[16];
    snprintf(name, sizeof name, "p%d", (int)partition);
    int code = store_family_drop(ledger->store, name, error);
    return code ? code : ledger_attach(ledger, partition, error);
}

int64_t ledger_next(const struct ledger *ledger, int32_t partition) { return ledger->pages[partition].next; }

void ledger_take(struct ledger *ledger, const struct kafka_record *record) {
    struct page *page = &ledger->pages[record->partition];
    uint8_t next[8];
    if (record->offset < page->next) return;
    page->next = record->offset + 1;
    bytes_put_be64(next, (uint64_t)page->next);
    store_batch_put(ledger->batch, page->family, record->key, record->key_size, record->value, record->value_size);
    store_batch_put(ledger->batch, page->family, NEXT, sizeof NEXT, next, sizeof next);
}

int ledger_write(struct ledger *ledger, struct error *error) {
    int code = store_batch_count(ledger->batch) ? store_write(ledger->store, ledger->batch, false, error) : 0;
    store_batch_clear(ledger->batch);
    return code;
}

int ledger_get(struct ledger *ledger, int32_t partition, const void *key, size_t key_size, void *value, size_t size,
               struct error *error) {
    int code = store_get(ledger->store, ledger->pages[partition].family, key, key_size, &ledger->value, error);
    if (code != 1) return code;
    if (ledger->value.size != size) return error_set(error, -EIO, "a value of the store has another size");
    memcpy(value, ledger->value.data, size);
    return 1;
}
