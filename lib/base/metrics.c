#include "base/metrics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/*   metrics --> family "starling_lag" --> series {partition="0"} --> series {partition="1"}
 *                 |
 *                 v
 *               family "starling_join_seconds" --> series {} with its histogram
 */
enum metric_kind { COUNTER, GAUGE, HISTOGRAM };

static const char *const KINDS[] = {"counter", "gauge", "histogram"};

struct histogram {
    double *bounds;
    double *counts; /* of each bucket alone; the last one is +Inf's */
    size_t count;   /* bounds */
    double sum;
};

struct series {
    struct metric metric; /* first, so that a metric's address is its series' */
    char *labels;         /* "" for none */
    struct histogram histogram;
    struct series *next;
};

struct family {
    char *name, *help;
    enum metric_kind kind;
    struct series *first;
    struct family *next;
};

struct collector {
    void (*fn)(void *context);
    void *context;
};

struct metrics {
    struct family *first;
    struct collector *collectors;
    size_t collector_count;
};

struct metrics *metrics_new(void) {
    return mem_zero(1, sizeof(struct metrics));
}

static void series_free(struct series *series) {
    free(series->histogram.bounds);
    free(series->histogram.counts);
    free(series->labels);
    free(series);
}

static void family_free(struct family *family) {
    for (struct series *series = family->first, *next; series; series = next) {
        next = series->next;
        series_free(series);
    }
    free(family->name);
    free(family->help);
    free(family);
}

void metrics_free(struct metrics *metrics) {
    if (!metrics) return;
    for (struct family *family = metrics->first, *next; family; family = next) {
        next = family->next;
        family_free(family);
    }
    free(metrics->collectors);
    free(metrics);
}

/* By name and kind: a name used for two kinds is a mistake, but never makes one kind's series pass for the other's. */
static struct family *family_want(struct metrics *metrics, enum metric_kind kind, const char *name, const char *help) {
    struct family **at = &metrics->first;
    for (; *at; at = &(*at)->next)
        if ((*at)->kind == kind && strcmp((*at)->name, name) == 0) return *at;
    return *at = MEM_NEW(&(struct family){.name = mem_string(name), .help = mem_string(help), .kind = kind});
}

static struct series *series_want(struct family *family, const char *labels, bool *created) {
    if (!labels) labels = "";
    struct series **at = &family->first;
    for (; *at; at = &(*at)->next)
        if (strcmp((*at)->labels, labels) == 0) return *at;
    *at = MEM_NEW(&(struct series){.labels = mem_string(labels)});
    if (created) *created = true;
    return *at;
}

struct metric *metrics_counter(struct metrics *metrics, const char *name, const char *help, const char *labels) {
    return &series_want(family_want(metrics, COUNTER, name, help), labels, NULL)->metric;
}

struct metric *metrics_gauge(struct metrics *metrics, const char *name, const char *help, const char *labels) {
    return &series_want(family_want(metrics, GAUGE, name, help), labels, NULL)->metric;
}

struct metric *metrics_gauge_unknown(struct metrics *metrics, const char *name, const char *help, const char *labels) {
    bool created = false;
    struct series *series = series_want(family_want(metrics, GAUGE, name, help), labels, &created);
    if (created) series->metric.value = NAN;
    return &series->metric;
}

struct metric *metrics_prefixed(struct metrics *metrics, metrics_kind *kind, const char *prefix, const char *name,
                                const char *help, const char *labels) {
    char *full = mem_format("%s_%s", prefix, name);
    struct metric *metric = kind(metrics, full, help, labels);
    free(full);
    return metric;
}

void metrics_set(struct metrics *metrics, const struct metric_now *series, size_t count) {
    static const char COUNTS[] = "_total";
    for (const struct metric_now *now = series; now < series + count; now++) {
        const char *end = strstr(now->name, COUNTS);
        (end && !end[strlen(COUNTS)] ? metrics_counter : metrics_gauge)(metrics, now->name, now->help, NULL)->value =
            now->value;
    }
}

void metrics_remove(struct metrics *metrics, struct metric *metric) {
    for (struct family *family = metrics->first; family; family = family->next) {
        for (struct series **at = &family->first; *at; at = &(*at)->next) {
            struct series *series = *at;
            if (&series->metric == metric) {
                *at = series->next;
                series_free(series);
                return;
            }
        }
    }
}

void metrics_label(struct buffer *labels, const char *key, const char *value) {
    if (labels->size) buffer_byte(labels, ',');
    buffer_string(labels, key);
    buffer_string(labels, "=\"");
    for (; *value; value++) {
        if (*value == '\n') {
            buffer_string(labels, "\\n");
            continue;
        }
        if (*value == '\\' || *value == '"') buffer_byte(labels, '\\');
        buffer_byte(labels, (uint8_t)*value);
    }
    buffer_byte(labels, '"');
}

struct histogram *metrics_histogram(struct metrics *metrics, const char *name, const char *help, const char *labels,
                                    const double *buckets, size_t count) {
    bool created = false;
    struct series *series = series_want(family_want(metrics, HISTOGRAM, name, help), labels, &created);
    if (created) {
        double *bounds = mem_zero(count, sizeof *bounds);
        for (size_t i = 0; i < count; i++) bounds[i] = buckets[i];
        series->histogram = (struct histogram){
            .bounds = bounds, .counts = mem_zero(count + 1, sizeof(double)), .count = count, .sum = 0};
    }
    return &series->histogram;
}

void histogram_observe(struct histogram *histogram, double value) {
    size_t i = 0;
    while (i < histogram->count && !(value <= histogram->bounds[i])) i++;
    histogram->counts[i]++;
    histogram->sum += value;
}

void metrics_on_collect(struct metrics *metrics, void (*fn)(void *context), void *context) {
    metrics->collectors = mem_resize(metrics->collectors, metrics->collector_count + 1, sizeof *metrics->collectors);
    metrics->collectors[metrics->collector_count++] = (struct collector){.fn = fn, .context = context};
}

/* One line: name suffix{labels,le="bound"} value. bound NULL: no such label. */
static void render_line(struct buffer *out, const char *name, const char *suffix, const char *labels,
                        const double *bound, double value) {
    buffer_string(out, name);
    buffer_string(out, suffix);
    if (*labels || bound) {
        buffer_byte(out, '{');
        buffer_string(out, labels);
        if (bound) {
            buffer_string(out, *labels ? ",le=\"" : "le=\"");
            text_double(out, *bound);
            buffer_byte(out, '"');
        }
        buffer_byte(out, '}');
    }
    buffer_byte(out, ' ');
    text_double(out, value);
    buffer_byte(out, '\n');
}

static void render_histogram(struct buffer *out, const char *name, const struct series *series) {
    const struct histogram *histogram = &series->histogram;
    const double infinity = HUGE_VAL;
    double total = 0;
    for (size_t i = 0; i <= histogram->count; i++) {
        total += histogram->counts[i];
        const double *bound = i < histogram->count ? &histogram->bounds[i] : &infinity;
        render_line(out, name, "_bucket", series->labels, bound, total);
    }
    render_line(out, name, "_sum", series->labels, NULL, histogram->sum);
    render_line(out, name, "_count", series->labels, NULL, total);
}

static void render_help(struct buffer *out, const struct family *family) {
    buffer_format(out, "# HELP %s ", family->name);
    for (const char *at = family->help; *at; at++) {
        if (*at == '\n')
            buffer_string(out, "\\n");
        else if (*at == '\\')
            buffer_string(out, "\\\\");
        else
            buffer_byte(out, (uint8_t)*at);
    }
    buffer_format(out, "\n# TYPE %s %s\n", family->name, KINDS[family->kind]);
}

static bool is_known(const struct family *family, const struct series *series) {
    return family->kind != GAUGE || !isnan(series->metric.value);
}

static bool has_lines(const struct family *family) {
    for (const struct series *series = family->first; series; series = series->next)
        if (is_known(family, series)) return true;
    return false;
}

void metrics_render(struct metrics *metrics, struct buffer *out) {
    for (size_t i = 0; i < metrics->collector_count; i++) metrics->collectors[i].fn(metrics->collectors[i].context);
    for (const struct family *family = metrics->first; family; family = family->next) {
        if (!has_lines(family)) continue; // all its series were removed, or are not known
        render_help(out, family);
        for (const struct series *series = family->first; series; series = series->next) {
            if (!is_known(family, series)) continue;
            if (family->kind == HISTOGRAM)
                render_histogram(out, family->name, series);
            else
                render_line(out, family->name, "", series->labels, NULL, series->metric.value);
        }
    }
}
