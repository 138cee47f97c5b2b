#include "cli/record_container.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "cli/lanes.h"
#include "event/codec.h"

enum {
    FIRST_RECORDS = 1000, /* that are looked at for what the values hold */
    BLOCK_BYTES = 65536,
    SYNC_SIZE = 16,
    WIRE_HEADER_SIZE = 5, /* Confluent's: 0, schema id */
};
enum { BRANCH_NULL, BRANCH_BYTES, BRANCH_RECORDS }; /* of the union; in `key` the first two */

struct record_container {
    FILE *file;
    struct lanes *first;                                /* the first records, in lane 0; NULL: the header is written */
    const struct event_schema *branches[EVENT_SCHEMAS]; /* from BRANCH_RECORDS on */
    size_t count;
    struct buffer block;
    int64_t rows; /* in the block */
    uint8_t sync[SYNC_SIZE];
    bool failed;
};

static void put_long(struct buffer *out, int64_t value) {
    uint8_t *at = buffer_reserve(out, VARINT_MAX);
    buffer_commit(out, (size_t)(zigzag_put(at, value) - at));
}

static void put_bytes(struct buffer *out, const void *data, size_t size) {
    put_long(out, (int64_t)size);
    if (size) buffer_append(out, data, size);
}

static void write_out(struct record_container *container, const struct buffer *bytes) {
    if (fwrite(bytes->data, 1, bytes->size, container->file) != bytes->size) container->failed = true;
}

/* The schema that a value was written in, if it is a whole record of it. */
static const struct event_schema *schema_of(const struct kafka_record *record) {
    if (!record->value || record->value_size < WIRE_HEADER_SIZE || record->value[0]) return NULL;
    const struct event_schema *schema = event_schema_find(bytes_get_be32(record->value + 1));
    const uint8_t *end = record->value + record->value_size;
    return schema && schema->find_end(record->value + WIRE_HEADER_SIZE, end) == end ? schema : NULL;
}

/* All versions of a record become branches, once. */
static void add_branches(struct record_container *container, const char *record) {
    for (size_t i = 0; i < container->count; i++)
        if (!strcmp(container->branches[i]->record, record)) return;
    for (size_t i = 0; i < EVENT_SCHEMAS; i++)
        if (!strcmp(event_schemas[i].record, record)) container->branches[container->count++] = &event_schemas[i];
}

/* The schema's text in a namespace of its own: the versions of a record have the same name. */
static void put_schema(struct buffer *out, const struct event_schema *schema) {
    static const char OURS[] = "\"namespace\":\"starling";
    const char *rest = schema->json, *found;
    while ((found = strstr(rest, OURS))) {
        found += sizeof OURS - 1;
        buffer_append(out, rest, (size_t)(found - rest));
        buffer_format(out, ".schema%" PRIu32, schema->id);
        rest = found;
    }
    buffer_string(out, rest);
}

static void write_header(struct record_container *container) {
    struct buffer schema = {.data = NULL}, header = {.data = NULL};
    buffer_string(&schema, "{\"type\":\"record\",\"name\":\"Record\",\"namespace\":\"starling.replay\",\"fields\":["
                           "{\"name\":\"partition\",\"type\":\"int\"},{\"name\":\"offset\",\"type\":\"long\"},"
                           "{\"name\":\"timestamp\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}},"
                           "{\"name\":\"key\",\"type\":[\"null\",\"bytes\"]},"
                           "{\"name\":\"value\",\"type\":[\"null\",\"bytes\"");
    for (size_t i = 0; i < container->count; i++) {
        buffer_byte(&schema, ',');
        put_schema(&schema, container->branches[i]);
    }
    buffer_string(&schema, "]}]}");
    buffer_string(&header, "Obj\1");
    put_long(&header, 2); // pairs of metadata
    put_bytes(&header, "avro.codec", strlen("avro.codec"));
    put_bytes(&header, "null", strlen("null"));
    put_bytes(&header, "avro.schema", strlen("avro.schema"));
    put_bytes(&header, schema.data, schema.size);
    put_long(&header, 0);
    buffer_append(&header, container->sync, SYNC_SIZE);
    write_out(container, &header);
    buffer_free(&schema);
    buffer_free(&header);
}

static void write_block(struct record_container *container) {
    struct buffer head = {.data = NULL};
    if (!container->rows) return;
    put_long(&head, container->rows);
    put_long(&head, (int64_t)container->block.size);
    buffer_append(&container->block, container->sync, SYNC_SIZE);
    write_out(container, &head);
    write_out(container, &container->block);
    buffer_free(&head);
    buffer_clear(&container->block);
    container->rows = 0;
}

static void put_value(struct record_container *container, const struct kafka_record *record) {
    const struct event_schema *schema = schema_of(record);
    for (size_t i = 0; schema && i < container->count; i++) {
        if (container->branches[i] != schema) continue;
        put_long(&container->block, BRANCH_RECORDS + (int64_t)i);
        buffer_append(&container->block, record->value + WIRE_HEADER_SIZE, record->value_size - WIRE_HEADER_SIZE);
        return;
    }
    put_long(&container->block, record->value ? BRANCH_BYTES : BRANCH_NULL);
    if (record->value) put_bytes(&container->block, record->value, record->value_size);
}

static void put_row(struct record_container *container, const struct kafka_record *record) {
    struct buffer *block = &container->block;
    put_long(block, record->partition);
    put_long(block, record->offset);
    put_long(block, record->timestamp);
    put_long(block, record->key ? BRANCH_BYTES : BRANCH_NULL);
    if (record->key) put_bytes(block, record->key, record->key_size);
    put_value(container, record);
    container->rows++;
    if (block->size >= BLOCK_BYTES) write_block(container);
}

/* Now that it is known what the values hold. */
static void begin(struct record_container *container) {
    const struct kafka_record *record;
    size_t lane;
    write_header(container);
    while ((record = lanes_first(container->first, &lane))) {
        put_row(container, record);
        lanes_next(container->first, lane);
    }
    lanes_free(container->first);
    container->first = NULL;
}

struct record_container *record_container_new(FILE *file) {
    struct record_container *container = MEM_NEW(&(struct record_container){.file = file, .first = lanes_new(1)});
    if (getrandom(container->sync, SYNC_SIZE, 0) != SYNC_SIZE) abort(); // never short for so few bytes
    return container;
}

void record_container_free(struct record_container *container) {
    if (!container) return;
    lanes_free(container->first);
    buffer_free(&container->block);
    free(container);
}

void record_container_put(struct record_container *container, const struct kafka_record *record) {
    if (!container->first) {
        put_row(container, record);
        return;
    }
    const struct event_schema *schema = schema_of(record);
    if (schema) add_branches(container, schema->record);
    lanes_put(container->first, 0, record);
    if (lanes_waiting(container->first, 0) >= FIRST_RECORDS) begin(container);
}

int record_container_finish(struct record_container *container, struct error *error) {
    if (container->first) begin(container);
    write_block(container);
    if (fflush(container->file)) container->failed = true;
    return container->failed ? error_set(error, -EIO, "the records cannot be written") : 0;
}
