#include "state/table_store.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"

enum { NUMBERS = TABLE_STORE_TOPICS + 3, NAME_SIZE = 48 };

struct table_part {
    struct store_family *families[TABLE_STORE_FAMILIES]; /* NULL: it was never opened */
    int64_t next[TABLE_STORE_TOPICS], mark, touched_ms;
    bool moved; /* the numbers must be written */
};

struct table_store {
    struct table_store_options options;
    struct store_batch *batch;
    struct table_part *parts;
    struct buffer value;
};

struct table_store *table_store_new(const struct table_store_options *options) {
    struct table_store *table = MEM_NEW(&(struct table_store){
        .options = *options,
        .batch = options->sorted ? store_batch_new_sorted() : store_batch_new(),
        .parts = mem_zero((size_t)options->partitions, sizeof *table->parts),
    });
    return table;
}

struct table_store *table_store_of_topic(struct store *store, const char *name, int32_t partitions,
                                         table_store_take *take, void *context) {
    return table_store_new(&(struct table_store_options){.store = store,
                                                         .partitions = partitions,
                                                         .families = {name},
                                                         .topics = 1,
                                                         .numbers = 0xff,
                                                         .bare = true,
                                                         .take = take,
                                                         .context = context});
}

void table_store_free(struct table_store *table) {
    if (!table) return;
    store_batch_free(table->batch);
    buffer_free(&table->value);
    free(table->parts);
    free(table);
}

struct store_batch *table_store_batch(struct table_store *table) {
    return table->batch;
}

struct store_family *table_store_family(const struct table_store *table, int32_t partition, size_t family) {
    return table->parts[partition].families[family];
}

/* ---- numbers ---- */

static size_t count_numbers(const struct table_store *table) {
    if (table->options.bare) return table->options.topics + (table->options.version ? 1 : 0);
    return table->options.topics + 3;
}

static void put_numbers(struct table_store *table, struct table_part *part) {
    uint8_t value[8 * NUMBERS], *at = value;
    size_t size = 8 * count_numbers(table);
    for (size_t t = 0; t < table->options.topics; t++, at += 8) bytes_put_be64(at, (uint64_t)part->next[t]);
    if (!table->options.bare) {
        bytes_put_be64(at, (uint64_t)part->mark);
        bytes_put_be64(at + 8, (uint64_t)part->touched_ms);
        at += 16;
    }
    bytes_put_be64(at, (uint64_t)table->options.version);
    store_batch_put(table->batch, part->families[0], &table->options.numbers, 1, value, size);
    part->moved = false;
}

/* False: they are those of another version. */
static bool read_numbers(const struct table_store *table, struct table_part *part) {
    size_t topics = table->options.topics;
    const uint8_t *at = table->value.data;
    if (table->value.size != 8 * count_numbers(table)) return false;
    for (size_t t = 0; t < topics; t++, at += 8) part->next[t] = (int64_t)bytes_get_be64(at);
    if (!table->options.bare) {
        part->mark = (int64_t)bytes_get_be64(at);
        part->touched_ms = (int64_t)bytes_get_be64(at + 8);
        at += 16;
    }
    return (table->options.bare && !table->options.version) || (int64_t)bytes_get_be64(at) == table->options.version;
}

static void forget_numbers(struct table_part *part) {
    for (size_t t = 0; t < TABLE_STORE_TOPICS; t++) part->next[t] = -1;
    part->mark = -1;
}

int64_t table_store_next(const void *table, int32_t partition, size_t topic) {
    return ((const struct table_store *)table)->parts[partition].next[topic];
}

void table_store_pass(struct table_store *table, int32_t partition, size_t topic, int64_t next) {
    table->parts[partition].next[topic] = next;
    table->parts[partition].moved = true;
}

void table_store_touch(struct table_store *table, int32_t partition, int64_t now_ms) {
    table->parts[partition].touched_ms = now_ms;
    table->parts[partition].moved = true;
}

int64_t table_store_mark(const struct table_store *table, int32_t partition) { return table->parts[partition].mark; }

void table_store_raise(struct table_store *table, int32_t partition, int64_t mark) {
    if (mark > table->parts[partition].mark) table->parts[partition].mark = mark;
}

/* ---- rows ---- */

void table_store_put(struct table_store *table, int32_t partition, int64_t offset, const void *key, size_t key_size,
                     const void *value, size_t size) {
    struct table_part *part = &table->parts[partition];
    if (offset < part->next[0]) return;
    table_store_pass(table, partition, 0, offset + 1);
    if (value)
        store_batch_put(table->batch, part->families[0], key, key_size, value, size);
    else
        store_batch_delete(table->batch, part->families[0], key, key_size);
}

int table_store_get(struct table_store *table, int32_t partition, const void *key, size_t key_size,
                    struct buffer *value, struct error *error) {
    return store_get(table->options.store, table->parts[partition].families[0], key, key_size,
                     value ? value : &table->value, error);
}

int table_store_write(void *store, struct error *error) {
    struct table_store *table = store;
    for (int32_t p = 0; p < table->options.partitions; p++)
        if (table->parts[p].moved) put_numbers(table, &table->parts[p]);
    int code = store_batch_count(table->batch) ? store_write(table->options.store, table->batch, false, error) : 0;
    store_batch_clear(table->batch);
    return code;
}

static int open_families(struct table_store *table, int32_t partition, bool drop, struct error *error) {
    const struct table_store_options *options = &table->options;
    struct table_part *part = &table->parts[partition];
    char name[NAME_SIZE];
    int code = 0;
    for (size_t f = 0; !code && f < TABLE_STORE_FAMILIES && options->families[f]; f++) {
        snprintf(name, sizeof name, "%s-%d", options->families[f], (int)partition);
        if (drop) code = store_family_drop(options->store, name, error);
        if (!code) code = store_family(options->store, name, &part->families[f], error);
    }
    return code;
}

/* Two families are emptied in one write, so that rows of one are never left without those of the other. */
int table_store_reset(void *store, int32_t partition, int64_t now_ms, struct error *error) {
    struct table_store *table = store;
    static const uint8_t FIRST[] = {0}, END[] = {0xff};
    struct table_part *part = &table->parts[partition];
    store_batch_clear(table->batch); // of a batch that was not written, as the store is damaged
    int code = table->options.families[1] ? 0 : open_families(table, partition, true, error);
    if (code) return code;
    for (size_t f = 0; table->options.families[1] && f < TABLE_STORE_FAMILIES; f++)
        store_batch_delete_range(table->batch, part->families[f], FIRST, sizeof FIRST, END, sizeof END);
    forget_numbers(part);
    table_store_touch(table, partition, now_ms);
    return table_store_write(table, error);
}

int table_store_open(void *store, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error) {
    struct table_store *table = store;
    struct table_part *part = &table->parts[partition];
    forget_numbers(part);
    int code = open_families(table, partition, false, error);
    if (!code) code = table_store_get(table, partition, &table->options.numbers, 1, &table->value, error);
    if (code < 0) return code;
    if (code && !(read_numbers(table, part) && (table->options.bare || part->touched_ms >= since_ms)))
        return table_store_reset(table, partition, now_ms, error);
    if (!code) table_store_touch(table, partition, now_ms);
    return code ? 0 : table_store_write(table, error);
}

/* ---- the kind ---- */

static int take(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                struct error *error) {
    struct table_store *table = store;
    const char *complaint = table->options.take(table->options.context, table, record, error);
    if (complaint)
        *reason = complaint;
    else
        table_store_put(table, record->partition, record->offset, record->key, record->key_size, record->value,
                        record->value_size);
    if (record->offset >= table_store_next(table, record->partition, topic))
        table_store_pass(table, record->partition, topic, record->offset + 1);
    return 0;
}

const struct state_kind TABLE_STORE_KIND = {
    .open = table_store_open,
    .take = take,
    .next = table_store_next,
    .write = table_store_write,
    .reset = table_store_reset,
};
