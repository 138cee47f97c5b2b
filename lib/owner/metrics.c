#include "owner/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* The series of all partitions stand together in what is shown. */
static struct metric **by_partition(struct metrics *metrics, const char *prefix, const char *name, const char *help,
                                    int32_t partitions) {
    struct metric **series = mem_zero((size_t)partitions, sizeof *series);
    for (int32_t p = 0; p < partitions; p++) {
        char label[32];
        snprintf(label, sizeof label, "partition=\"%d\"", p);
        series[p] = metrics_prefixed(metrics, metrics_gauge, prefix, name, help, label);
    }
    return series;
}

static struct metric **next_offsets(struct metrics *metrics, const char *prefix, int32_t partitions,
                                    const struct topic *const *inputs, size_t input_count) {
    struct metric **series = mem_zero(input_count * (size_t)partitions + 1, sizeof *series);
    for (size_t i = 0; i < input_count * (size_t)partitions; i++) {
        char *label =
            mem_format("topic=\"%s\",partition=\"%zu\"", inputs[i / (size_t)partitions]->name, i % (size_t)partitions);
        series[i] = metrics_prefixed(
            metrics, metrics_gauge_unknown, prefix, "input_next_offset",
            "Offset up to which this process has handled an input; none where it does not read it", label);
        free(label);
    }
    return series;
}

void owner_metrics_init(struct owner_metrics *m, struct metrics *s, const char *prefix, int32_t partitions,
                        const struct topic *const *inputs, size_t input_count) {
    const char *restore = "restore_records_total", *restore_help = "Records of state read for partitions not live";
    *m = (struct owner_metrics){
        .owned = metrics_prefixed(s, metrics_gauge, prefix, "partitions_owned",
                                  "Partitions that the group has given to this process", NULL),
        .restored = metrics_prefixed(s, metrics_gauge, prefix, "partitions_restored",
                                     "Owned partitions whose state is up to date", NULL),
        .lag = metrics_prefixed(s, metrics_gauge, prefix, "lag_seconds",
                                "Age of the oldest input that is being waited for; 0 when none is", NULL),
        .commits = metrics_prefixed(s, metrics_counter, prefix, "offset_commits_total",
                                    "Commits of the offsets of inputs", NULL),
        .held = metrics_prefixed(s, metrics_counter, prefix, "held_total",
                                 "Times that input was held because output was full", NULL),
        .unsettled = metrics_prefixed(s, metrics_gauge, prefix, "outbox_epochs",
                                      "Epochs of the outbox that are not acknowledged yet", NULL),
        .restore_records = metrics_prefixed(s, metrics_counter, prefix, restore, restore_help, "for=\"owned\""),
        .standby_records = metrics_prefixed(s, metrics_counter, prefix, restore, restore_help, "for=\"standby\""),
        .standbys = metrics_prefixed(s, metrics_gauge, prefix, "partitions_standby",
                                     "Partitions of others whose state is kept up to date here", NULL),
        .current = metrics_prefixed(s, metrics_gauge, prefix, "partitions_standby_current",
                                    "Those of them that are up to date", NULL),
        .standby_lag = metrics_prefixed(s, metrics_gauge, prefix, "standby_lag_records",
                                        "Records of state that stand-by partitions have still to read", NULL),
        .left = metrics_prefixed(s, metrics_gauge, prefix, "restore_left_records",
                                 "Records that owned partitions wait for", NULL),
        .rate = metrics_prefixed(s, metrics_gauge, prefix, "restore_records_per_second",
                                 "Records read for partitions not live", NULL),
        .seconds_left = metrics_prefixed(s, metrics_gauge_unknown, prefix, "restore_left_seconds",
                                         "Time left of restoring owned partitions, at this rate", NULL),
        .pause = metrics_prefixed(
            s, metrics_gauge_unknown, prefix, "takeover_pause_seconds",
            "Age of the oldest input that was handled first after the last assignment, by partition", NULL),
        .commands_held = metrics_prefixed(
            s, metrics_gauge, prefix, "commands_held_seconds",
            "Time that the first command of a partition has not been read for, though it is there; the longest", NULL),
        .partition_stage =
            by_partition(s, prefix, "partition_stage",
                         "0 somebody else's, 1 stand-by catching up, 2 stand-by, 3 restoring, 4 live", partitions),
        .partition_lag = by_partition(
            s, prefix, "partition_lag_seconds",
            "Age of the oldest input of the partition that is being waited for; 0 when none is", partitions),
        .next = next_offsets(s, prefix, partitions, inputs, input_count),
    };
}

void owner_metrics_free(struct owner_metrics *m) {
    free(m->partition_stage);
    free(m->partition_lag);
    free(m->next);
}
