#include "ingest/schema_text.h"

#include <string.h>

#include "json/json.h"

enum { VALUES_MAX = 2048 }; /* several times those of our largest schema */

void schema_text_name(const char *text, struct buffer *name) {
    const char *space, *own;
    json_t *schema = json_parse(text, strlen(text), NULL);
    if (schema && !json_want_text(schema, "namespace", &space, NULL)) buffer_format(name, "%s.", space);
    if (schema && !json_want_text(schema, "name", &own, NULL)) buffer_string(name, own);
    json_decref(schema);
}

bool schema_text_valid(const char *text) {
    json_t *schema = json_parse_within(text, strlen(text), VALUES_MAX, NULL);
    bool valid = json_is_object(schema) || json_is_array(schema);
    json_decref(schema);
    return valid;
}

/* Fields and types lie a few levels deep; json_parse has refused what would be too deep for this. */
static void drop_docs(json_t *schema) { // NOLINT(misc-no-recursion)
    const char *key;
    json_t *value;
    size_t index;
    if (json_is_object(schema)) json_object_del(schema, "doc");
    json_object_foreach(schema, key, value) drop_docs(value);
    json_array_foreach(schema, index, value) drop_docs(value);
}

bool schema_text_same(const char *a, const char *b) {
    json_t *left = json_parse(a, strlen(a), NULL), *right = json_parse(b, strlen(b), NULL);
    drop_docs(left);
    drop_docs(right);
    bool same = left && right && json_equal(left, right);
    json_decref(left);
    json_decref(right);
    return same;
}
