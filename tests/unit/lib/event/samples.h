/* Random records for the tests of lib/event, made and encoded by avro-c from nothing but the schema. */
#pragma once

#include <avro.h>

#include "base/buffer.h"
#include "event/codec.h"

/* A random number that follows from the seed, which moves on. */
uint64_t sample_random(uint64_t *seed);
uint64_t sample_below(uint64_t *seed, uint64_t limit);

/* What schemas/ranges.txt says. */
struct sample_range {
    char name[64];
    int64_t least, greatest;
};
enum { SAMPLE_RANGES_MAX = 200 };
struct sample_ranges {
    struct sample_range items[SAMPLE_RANGES_MAX];
    size_t count;
};

struct samples {
    const struct event_schema *schema;
    avro_value_t value; /* the last sample, or what samples_parse read */
    uint64_t seed;
    struct sample_ranges ranges; /* none for schemas that are not ours */
};

struct samples *samples_new(const struct event_schema *schema, uint64_t seed);
void samples_free(struct samples *samples);

/* Replaces value by a random one within its ranges (extremes are frequent), and out by its bare Avro bytes. */
void samples_next(struct samples *samples, struct buffer *out);

/* Has avro-c read bare Avro bytes into value, and replaces out by what it writes for that. False: it could not. */
bool samples_parse(struct samples *samples, const uint8_t *bytes, size_t size, struct buffer *out);

/* Damages bytes in one to three places. */
void samples_mutate(struct samples *samples, struct buffer *bytes);

/* Writes the wire header of a schema and bare Avro bytes. */
void sample_value(struct buffer *out, uint32_t id, const uint8_t *bytes, size_t size);

/* Decodes a value with our codecs, whatever its id, and replaces out by what they write for it, with the header of the newest
 * version; a delivery-batch of version 1 as that version again. The return value is the decoder's. */
int sample_recode(struct codec *codec, const uint8_t *value, size_t size, struct buffer *out);
