/* Metrics in Prometheus' text format.
 *
 * A registry is owned by its maker; metrics live as long as the registry. Updates and rendering: the loop's thread.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

struct metrics;

struct
    metric { /* a counter or a gauge: add or assign directly. A gauge that is NAN, because nothing is known yet, has no line */
    double value;
};

struct histogram;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/* name by Prometheus' rules (starling_..._total, _seconds, _bytes); labels as `topic="locations",partition="3"` or NULL.
 * The same name with other labels makes a further series of one family; the same name and labels return the same series.
 * Families and their series are rendered in the order of their making. */
struct metric *metrics_counter(struct metrics *metrics, const char *name, const char *help, const char *labels);
struct metric *metrics_gauge(struct metrics *metrics, const char *name, const char *help, const char *labels);
/* A gauge that is not known until it is first assigned: a 0 would look like "long ago", or "at once". */
struct metric *metrics_gauge_unknown(struct metrics *metrics, const char *name, const char *help, const char *labels);
/* The series PREFIX_NAME of the kind: one of the three functions above. */
typedef struct metric *metrics_kind(struct metrics *metrics, const char *name, const char *help, const char *labels);
struct metric *metrics_prefixed(struct metrics *metrics, metrics_kind *kind, const char *prefix, const char *name,
                                const char *help, const char *labels);
struct metric_now {
    const char *name, *help;
    double value;
};
/* Sets counters (whose names end in _total) and gauges that are worked out when they are rendered, and makes those that are not there. */
void metrics_set(struct metrics *metrics, const struct metric_now *series, size_t count);
void metrics_remove(struct metrics *metrics, struct metric *metric); /* a series that no longer applies; NULL is fine */

/* Appends key="value", the value escaped, and a comma before it if something is there: for labels that come from outside. */
void metrics_label(struct buffer *labels, const char *key, const char *value);

/* Buckets: ascending upper bounds, +Inf is added. They are copied; a series that is there keeps its own. */
struct histogram *metrics_histogram(struct metrics *metrics, const char *name, const char *help, const char *labels,
                                    const double *buckets, size_t count);
void histogram_observe(struct histogram *histogram, double value);

/* Called before each rendering, to set gauges that are computed. */
void metrics_on_collect(struct metrics *metrics, void (*fn)(void *context), void *context);

void metrics_render(struct metrics *metrics, struct buffer *out);
