#include "router/standby_metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "router/state.h"

/* What starling_router_partition_stage shows. */
enum shown_stage { SHOWN_FOREIGN, SHOWN_STANDBY_BEHIND, SHOWN_STANDBY, SHOWN_RESTORING, SHOWN_LIVE };

static struct metric *gauge(struct metrics *metrics, const char *name, const char *help) {
    return metrics_gauge(metrics, name, help, NULL);
}

void standby_metrics_init(struct standby_metrics *m, struct metrics *s, int32_t partitions) {
    const char *restore = "starling_router_restore_records_total",
               *restore_help = "Records of friendships and sharing read for partitions that were not live";
    const char *stage = "starling_router_partition_stage",
               *stage_help = "0 somebody else's, 1 stand-by catching up, 2 stand-by, 3 restoring, 4 live";
    const char *lag = "starling_router_partition_lag_seconds",
               *lag_help = "Age of the oldest location of the partition that is being waited for; 0 when none is";
    *m = (struct standby_metrics){
        .restore_records = metrics_counter(s, restore, restore_help, "for=\"owned\""),
        .standby_records = metrics_counter(s, restore, restore_help, "for=\"standby\""),
        .standbys = gauge(s, "starling_router_partitions_standby",
                          "Partitions of others whose friend lists are kept up to date here"),
        .current = gauge(s, "starling_router_partitions_standby_current", "Those of them that are up to date"),
        .lag = gauge(s, "starling_router_standby_lag_records",
                     "Records of friendships and sharing that stand-by partitions have still to read"),
        .left = gauge(s, "starling_router_restore_left_records", "Records that owned partitions wait for"),
        .rate =
            gauge(s, "starling_router_restore_records_per_second", "Records read for partitions that were not live"),
        .seconds_left = metrics_gauge_unknown(s, "starling_router_restore_left_seconds",
                                              "Time left of restoring owned partitions, at this rate", NULL),
        .pause = metrics_gauge_unknown(
            s, "starling_router_takeover_pause_seconds",
            "Age of the oldest location that was handled first after the last assignment, by partition", NULL),
        .partition_stage = mem_zero((size_t)partitions, sizeof *m->partition_stage),
        .partition_lag = mem_zero((size_t)partitions, sizeof *m->partition_lag),
    };
    for (int32_t p = 0; p < partitions; p++) {
        char label[32];
        snprintf(label, sizeof label, "partition=\"%d\"", p);
        m->partition_stage[p] = metrics_gauge(s, stage, stage_help, label);
    }
    for (int32_t p = 0; p < partitions; p++) {
        char label[32];
        snprintf(label, sizeof label, "partition=\"%d\"", p);
        m->partition_lag[p] = metrics_gauge(s, lag, lag_help, label);
    }
}

void standby_metrics_free(struct standby_metrics *m) {
    free(m->partition_stage);
    free(m->partition_lag);
}

void standby_measure(struct router *router) {
    struct standby_metrics *m = &router->members;
    int64_t standbys = 0, current = 0, behind = 0, left = 0;
    for (int32_t p = 0; p < router->partitions; p++) {
        enum shown_stage shown = SHOWN_FOREIGN;
        if (router->parts[p].stage == PARTITION_LIVE) {
            shown = SHOWN_LIVE;
        } else if (partition_owned(&router->parts[p])) {
            shown = SHOWN_RESTORING;
            left += relations_left(router->relations, p, router->parts[p].friendships_end);
        } else if (relations_stands_by(router->relations, p)) {
            int64_t lag = relations_standby_lag(router->relations, p);
            shown = lag == 0 ? SHOWN_STANDBY : SHOWN_STANDBY_BEHIND;
            standbys++;
            current += lag == 0;
            behind += lag > 0 ? lag : 0;
        }
        m->partition_stage[p]->value = (double)shown;
    }
    double records = m->restore_records->value + m->standby_records->value;
    m->rate->value = records - m->records_before;
    m->records_before = records;
    m->standbys->value = (double)standbys;
    m->current->value = (double)current;
    m->lag->value = (double)behind;
    m->left->value = (double)left;
    m->seconds_left->value = !left ? 0 : m->rate->value > 0 ? (double)left / m->rate->value : (double)NAN;
}
