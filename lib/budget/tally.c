#include "budget/tally.h"

#include <stdlib.h>

#include "base/mem.h"

static struct metric *refusals(struct metrics *metrics, const char *labels) {
    return metrics_counter(metrics, "starling_budget_refused_total", "What was refused for lack of budget.", labels);
}

static void limit(struct metrics *metrics, const char *labels, int64_t most) {
    metrics_gauge(metrics, "starling_budget_limit",
                  "How many units may be held, or taken at once by somebody who has rested; 0: any number.", labels)
        ->value = (double)most;
}

struct metric *tally_rate(struct metrics *metrics, const char *what, const char *by, int64_t per_second,
                          int64_t burst) {
    char *labels = mem_format("what=\"%s\",by=\"%s\"", what, by);
    limit(metrics, labels, burst);
    metrics_gauge(metrics, "starling_budget_per_second", "How many units may be taken a second; 0: any number.", labels)
        ->value = (double)per_second;
    struct metric *refused = refusals(metrics, labels);
    free(labels);
    return refused;
}

struct metric *tally_held(struct metrics *metrics, const char *what, const char *by, int64_t most) {
    char *labels = mem_format("what=\"%s\",by=\"%s\"", what, by);
    limit(metrics, labels, most);
    struct metric *refused = refusals(metrics, labels);
    free(labels);
    return refused;
}

struct metric *tally_used(struct metrics *metrics, const char *what) {
    char *labels = mem_format("what=\"%s\"", what);
    struct metric *used = metrics_gauge(metrics, "starling_budget_used", "How many units are held now.", labels);
    free(labels);
    return used;
}
