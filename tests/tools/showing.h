/* Fields of JSON objects, each followed by ", ". */
#pragma once

#include <inttypes.h>

#include "base/buffer.h"
#include "event/types.h"
#include "json/json.h"

static inline void put_long(struct buffer *out, const char *name, int64_t value) {
    buffer_format(out, "\"%s\": %" PRId64 ", ", name, value);
}

static inline void put_bool(struct buffer *out, const char *name, bool value) {
    buffer_format(out, "\"%s\": %s, ", name, value ? "true" : "false");
}

static inline void put_symbol(struct buffer *out, const char *name, const char *const symbols[], unsigned index) {
    buffer_format(out, "\"%s\": \"%s\", ", name, symbols[index]);
}

static inline void put_text(struct buffer *out, const char *name, struct event_text text) {
    buffer_format(out, "\"%s\": ", name);
    json_put_text(out, text.data, text.size);
    buffer_string(out, ", ");
}

static inline void put_longs(struct buffer *out, const char *name, struct event_longs longs) {
    buffer_format(out, "\"%s\": [", name);
    for (size_t i = 0; i < longs.count; i++) buffer_format(out, "%s%" PRId64, i ? ", " : "", longs.items[i]);
    buffer_string(out, "], ");
}

/* An object's fields each end with ", ". */
static inline void close_object(struct buffer *out) {
    out->size -= 2;
    buffer_byte(out, '}');
}
