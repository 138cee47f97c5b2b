/* The brokers' work for being asked for records. */
#include "cli/plan_private.h"

#include <math.h>

#define WAIT_S 0.05 /* fetch.wait.max.ms of consumers that do not gather (lib/kafka/consumer.c) */

/* A broker answers as soon as there is something, or after wait_s with nothing, and is asked again at once. So many consumers each read
 * `partitions` partitions, which are spread over the brokers; `seen` writes a second go to those that one of them reads. */
static double fetch_cores(const struct planning *planning, double consumers, double partitions, double seen,
                          double wait_s) {
    const double *f = planning->figure;
    double asked = fmin(planning->plan->tiers[TIER_BROKER].processes, fmax(1, partitions)), rate = seen / asked;
    // Of writes at random times the first one comes after 1 / rate on average, if nobody stops waiting for it.
    double waits = rate > 0 ? (1 - exp(-rate * wait_s)) / rate : isnan(rate) ? NAN : wait_s;
    return US * f[FIGURE_BROKER_FETCH_US] * consumers * asked / (waits + 1 / f[FIGURE_BROKER_FETCHES]);
}

/* Of a tier whose processes share the partitions: what its owners read, and what each process reads of all partitions. */
static double shared_cores(const struct planning *planning, enum plan_tier_id id, double shared, double all) {
    double processes = planning->plan->tiers[id].processes, partitions = planning->plan->partitions;
    if (processes == 0) return 0;
    return fetch_cores(planning, processes, partitions / processes, shared / processes, WAIT_S) +
           fetch_cores(planning, processes, partitions, all, WAIT_S);
}

void plan_fetches(const struct planning *planning, double *cores) {
    const struct plan_load *load = planning->load;
    const struct plan *plan = planning->plan;
    double routers = planning->routers, reports = planning->report_requests, talk = load->comments + load->likes;
    double gather_s = plan_gather(load), sinks = plan->tiers[TIER_HISTORY].processes;
    for (int i = 0; i < TIER_BROKER; i++) cores[i] = 0;
    // An edge lets its broker gather, so that it waits whether there is something or not.
    cores[TIER_EDGE] = gather_s > 0
                           ? fetch_cores(planning, planning->edges, 1, 0, gather_s)
                           : fetch_cores(planning, planning->edges, 1, plan->batches / planning->edges, WAIT_S);
    // Copies of sharing, mutes and names hardly change; they are asked for all the same.
    cores[TIER_EDGE] += fetch_cores(planning, planning->edges, plan->partitions, 0, WAIT_S);
    cores[TIER_INGEST] = fetch_cores(planning, plan->tiers[TIER_INGEST].processes, plan->partitions, 0, WAIT_S);
    cores[TIER_ROUTER] = shared_cores(planning, TIER_ROUTER, reports, reports * (1 - 1 / routers));
    cores[TIER_FEED] = shared_cores(planning, TIER_FEED, load->posts, plan->hot);
    cores[TIER_COMMENTS] = shared_cores(planning, TIER_COMMENTS, talk, 0);
    cores[TIER_MODERATION] =
        fetch_cores(planning, plan->tiers[TIER_MODERATION].processes, plan->partitions, talk, WAIT_S);
    if (sinks > 0)
        cores[TIER_HISTORY] = fetch_cores(planning, sinks, plan->partitions / sinks, reports / sinks, WAIT_S);
}
