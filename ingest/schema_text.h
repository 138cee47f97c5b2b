/* Avro schemas as JSON texts. Pure but for allocation; one thread. */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"

/* Appends the full name of a record's schema: starling.Location. */
void schema_text_name(const char *text, struct buffer *name);

bool schema_text_valid(const char *text); /* it is a JSON object or list */

/* Two texts are the same schema: equal but for documentation, and the order of members. */
bool schema_text_same(const char *a, const char *b);
