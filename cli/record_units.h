/* The units of a record's JSON. Pure; any thread. */
#pragma once

#include "base/buffer.h"

/* Appends JSON as Avro writes it, with the members "lat" and "lng" of all objects in degrees instead of units of 1e-7 degrees, and null for an
 * "accuracy" or detail that is not known (-1). Everything else stays as it is, to the byte. */
void record_units(struct buffer *out, const char *json, size_t size);
