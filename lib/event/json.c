#include "event/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/private.h"

avro_schema_t event_schema_parse(const struct event_schema *schema) {
    avro_schema_t parsed;
    if (avro_schema_from_json_length(schema->json, strlen(schema->json), &parsed) != 0) abort();
    return parsed;
}

void json_values_free(avro_value_t *values) {
    for (size_t i = 0; values && i < EVENT_SCHEMAS; i++)
        if (values[i].iface) avro_value_decref(&values[i]);
    free(values);
}

/* avro-c's value of a schema, made once. */
static avro_value_t *value_of(struct codec *codec, const struct event_schema *schema) {
    if (!codec->values) codec->values = mem_zero(EVENT_SCHEMAS, sizeof *codec->values);
    avro_value_t *value = &codec->values[schema - event_schemas];
    if (!value->iface) {
        avro_schema_t parsed = event_schema_parse(schema);
        avro_value_iface_t *iface = avro_generic_class_from_schema(parsed);
        if (avro_generic_value_new(iface, value) != 0) abort();
        avro_value_iface_decref(iface);
        avro_schema_decref(parsed);
    }
    return value;
}

int event_to_json(struct codec *codec, const void *value, size_t size, struct buffer *out, struct error *error) {
    uint32_t id;
    const uint8_t *at = event_header_read(value, size, &id, error), *end = (const uint8_t *)value + size;
    if (!at) return -EBADMSG;
    const struct event_schema *schema = event_schema_find(id);
    if (!schema) return error_set(error, -ENOENT, "unknown schema id %u", id);
    /* By our own reader first: avro-c believes lengths, counts and symbols as they come. */
    if (schema->find_end(at, end) != end)
        return error_set(error, -EBADMSG, "malformed %s of %zu bytes", schema->record, size);

    avro_value_t *avro = value_of(codec, schema);
    char *text = NULL;
    int rc = 0;
    avro_reader_t reader = avro_reader_memory((const char *)at, end - at);
    avro_value_reset(avro);
    if (avro_value_read(reader, avro) != 0 || avro_value_to_json(avro, 1, &text) != 0) {
        rc = error_set(error, -EBADMSG, "%s: %s", schema->record, avro_strerror());
        goto finish;
    }
    buffer_string(out, text);
finish:
    free(text);
    avro_reader_free(reader);
    return rc;
}
