/* Reads the text of a /metrics page (Prometheus' format), sample by sample. Pure; any thread. */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"

/* name{key="value",...} value; the texts are borrowed from the page. */
struct metrics_sample {
    const char *name, *labels; /* labels: what stands between the braces */
    size_t name_size, labels_size;
    double value;
};

/* The next sample behind *at, which moves on; false: the end. Comments, and lines that are no sample, are skipped. */
bool metrics_text_next(const char **at, struct metrics_sample *sample);

bool metrics_text_named(const struct metrics_sample *sample, const char *name);

/* Appends the value of a label to out; false: the sample has no such label. */
bool metrics_text_label(const struct metrics_sample *sample, const char *key, struct buffer *out);
