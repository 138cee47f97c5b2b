/* Shared by the parts of the plan (plan_model.c, plan_nearby.c). Every result is NAN where it follows from what has no number. */
#ifndef CLI_PLAN_PRIVATE_H
#define CLI_PLAN_PRIVATE_H

#include "cli/plan_model.h"

#define US 1e-6
#define KB 1e3
#define KIB 1024.0
#define MB 1e6
#define GB 1e9
#define TB 1e12

/* A computation of plan_compute. */
struct planning {
    const struct plan_load *load;
    const double *figure;
    struct plan *plan;
    double usable; /* share of a core */
    double edges;  /* processes */
    double routers;
    double rows_read;       /* how often each report is read from Kafka */
    double report_requests; /* a second, in which edges and gateways write reports */
};

void plan_warn(struct plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Two processes at least where Kafka keeps copies: one of them may end. */
double plan_least(const struct plan_load *load);

/* So many processes for work of which `shared` comes to each of them (cores); NAN: no number is enough. */
double plan_enough(const struct planning *planning, double work, double shared);

/* Machines whose disks so many bytes fill, with what is spare on them. */
double plan_disks(const struct plan_load *load, double bytes);

/* Bytes of a copy of sharing. */
double plan_copies(const struct planning *planning);

void plan_edges(struct planning *planning);
void plan_routers(struct planning *planning);

/* The brokers' cores, for all copies, of writes that would keep so many cores busy with one copy. */
double plan_copied(const struct planning *planning, double cores);

/* How long an edge waits for others before it writes a report, and how long it lets a broker wait before that answers; s. */
double plan_gather(const struct plan_load *load);

/* The brokers' work for edges' reports. After plan_edges, when the number of partitions is known. */
void plan_edge_writes(struct planning *planning);

/* cores[TIER_BROKER]: what the questions of each tier's consumers take at so many brokers as the plan has at that time. */
void plan_fetches(const struct planning *planning, double *cores);

#endif
