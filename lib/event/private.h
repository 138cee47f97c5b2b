/* Shared by lib/event's files, and private to them. */
#pragma once

#include <avro.h>

#include "event/codec.h"

struct scratch_chunk;

struct codec {
    struct scratch_chunk *chunks; /* newest, and largest, first */
    size_t used;                  /* bytes of the newest */
    avro_value_t *values;         /* for event_to_json: as event_schemas; iface NULL until first asked for */
};

/* Empties the scratch memory. */
void codec_scratch_reset(struct codec *codec);

/* Takes the wire header off a value: where the record begins, and its id. NULL with the reason in error. */
const uint8_t *event_header_read(const void *value, size_t size, uint32_t *id, struct error *error);

/* Parses the schema with avro-c. A schema that the generator took and avro-c does not is a defect: aborts. */
avro_schema_t event_schema_parse(const struct event_schema *schema);

void json_values_free(avro_value_t *values); /* NULL is fine */
