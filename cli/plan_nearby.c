/* Edges and routers. */
#include "cli/plan_private.h"

#include <math.h>

enum {
    POSTS_A_PAGE = 20,
    ROUTERS_MOST = 4096, /* four times as many as may share partitions: enough to say how many would be needed */
    NEAR_MEASURED = 40,  /* near friends of the session whose memory was measured, and of the wide one */
    NEAR_WIDE = 400,
    FRIENDS_MEASURED = 400,
    FRIENDS_MANY = 5000,
    SMALL_BATCH = 1024, /* bytes of deliveries */
    GATHER_SHARE = 50   /* an edge waits for such a part of its window before it writes (fanout/edge_parts.c) */
};

#define GATHER_MAX_S 0.02 /* and no longer */

#define ROUTER_STORE (128 * MB) /* store.memory.mb */

void plan_edges(struct planning *planning) {
    const struct plan_load *load = planning->load;
    const double *f = planning->figure;
    struct plan *plan = planning->plan;
    struct plan_tier *tier = &plan->tiers[TIER_EDGE];
    double full = f[FIGURE_EDGE_FULL_ENTRIES], near = load->friends * load->near;
    // A screen gets a frame a window, with all that came meanwhile; one that hears less gets each item by itself.
    double entries = fmax(1, near / load->every_s * load->window_s);
    double frame_us = 1e6 / f[FIGURE_EDGE_FRAMES];
    double entry_us = fmax(0, (1e6 / f[FIGURE_EDGE_FULL_FRAMES] - frame_us) / (full - 1));
    double entry_bytes = fmax(0, (f[FIGURE_EDGE_FULL_BYTES] - f[FIGURE_EDGE_FRAME_BYTES]) / (full - 1));
    double posts_shown = load->users > 0 ? load->posts * load->followers * fmin(1, load->online / load->users) : 0;
    double moves = plan->deliveries / entries, by_socket = plan->reports * (1 - load->http);
    plan->frames = moves + posts_shown;
    plan->hellos = load->online / load->stay_s;
    *tier = (struct plan_tier){
        .name = "edge",
        .cores = US * (moves * (frame_us + entry_us * (entries - 1)) + posts_shown * frame_us +
                       by_socket * f[FIGURE_EDGE_MESSAGE_US] +
                       plan->hellos * (f[FIGURE_EDGE_HELLO_US] + load->tls * f[FIGURE_EDGE_TLS_US])),
        .in = by_socket * f[FIGURE_EDGE_MESSAGE_BYTES] +
              plan->deliveries * f[FIGURE_ROUTER_BYTES] / f[FIGURE_ROUTER_DELIVERIES],
        .out = moves * (f[FIGURE_EDGE_FRAME_BYTES] + entry_bytes * (entries - 1)) +
               posts_shown * f[FIGURE_FEED_PAGE_BYTES] / POSTS_A_PAGE + by_socket * f[FIGURE_BROKER_REPORT_BYTES],
    };
    // One of them may be away: the others have room for its phones.
    double by_sessions = ceil(load->online / load->sessions) + plan_least(load) - 1;
    double by_cpu = plan_enough(planning, tier->cores, 0);
    tier->processes = fmax(by_cpu, by_sessions);
    tier->limit = by_sessions > by_cpu ? "sessions" : "CPU";
    double list_kib = f[FIGURE_EDGE_LIST_KIB] * fmax(0, near - NEAR_MEASURED) / (NEAR_WIDE - NEAR_MEASURED);
    tier->memory =
        f[FIGURE_PROCESS_MB] * MB + plan_copies(planning) +
        load->online / tier->processes * (KB * (f[FIGURE_EDGE_SESSION_KB] + f[FIGURE_EDGE_KERNEL_KB]) + KIB * list_kib);
    planning->edges = tier->processes;
}

/* Batches a second in which so many items a second are sent by so many pairs of sender and target: the first item of a batch waits
 * wait_s for others, and for that item the pair has waited 1 / rate on average. Not more than one an item. */
static double batches(double pairs, double items, double wait_s) {
    double rate = items / pairs;
    return rate > 0 ? pairs / (wait_s + 1 / rate) : isnan(rate) ? NAN : 0;
}

double plan_gather(const struct plan_load *load) { return fmin(load->window_s / GATHER_SHARE, GATHER_MAX_S); }

void plan_edge_writes(struct planning *planning) {
    const struct plan_load *load = planning->load;
    const double *f = planning->figure;
    double reports = planning->plan->reports * (1 - load->http);
    // librdkafka writes one batch to one partition in a request: the more partitions, the less each gathers.
    double requests = batches(planning->edges * planning->plan->partitions, reports, plan_gather(load));
    planning->report_requests += requests;
    planning->plan->tiers[TIER_EDGE].broker_cores = plan_copied(
        planning, US * (requests * f[FIGURE_BROKER_REQUEST_US] + (reports - requests) * f[FIGURE_BROKER_RECORD_US]));
}

/* us a report, by the friends of its user: the measured report, with another join. */
static double report_us(const double *f, double friends) {
    double slope = friends <= FRIENDS_MEASURED
                       ? (f[FIGURE_ROUTER_JOIN_US] - f[FIGURE_ROUTER_JOIN_US_NONE]) / FRIENDS_MEASURED
                       : (f[FIGURE_ROUTER_JOIN_US_MANY] - f[FIGURE_ROUTER_JOIN_US]) / (FRIENDS_MANY - FRIENDS_MEASURED);
    return fmax(0, f[FIGURE_ROUTER_REPORT_US] + slope * (friends - FRIENDS_MEASURED));
}

static double deliveries_batches(const struct planning *planning, double routers) {
    return batches(routers * planning->edges, planning->plan->deliveries, planning->load->flush_s);
}

/* sending, join and observing: cores; of all routers, but observing, which is each router's. */
static void warn_routers(const struct planning *planning, bool found, double join, double observing, double sending) {
    const struct plan_load *load = planning->load;
    struct plan *plan = planning->plan;
    double size = plan->tiers[TIER_ROUTER].out / fmax(1, plan->batches);
    plan->refused |= !found;
    if (!found && observing >= planning->usable)
        plan_warn(
            plan,
            "No number of routers is enough: each observes all %.0f reports/s, which takes %.2f of the %.2f cores "
            "that a process may use. Cut the world into regions.",
            plan->reports, observing, planning->usable);
    else if (!found)
        plan_warn(plan,
                  "No number of routers is enough: the more there are, the smaller are their batches to %.0f edges.",
                  planning->edges);
    else if (observing > planning->usable / 2)
        plan_warn(plan, "Observing the others' reports takes %.0f%% of what a router may use, whatever their number.",
                  observing / planning->usable * 100);
    if (found && sending > join && sending > planning->usable && size < SMALL_BATCH)
        plan_warn(
            plan,
            "A batch of deliveries holds %.0f bytes, because %.0f routers tell each of %.0f edges by itself: %.0f "
            "batches/s. A larger outbox.flush.ms gathers more.",
            size, planning->routers, planning->edges, plan->batches);
    if (load->near > 0.2)
        plan_warn(plan, "The router's figure was measured with a tenth of the friends near; more of them cost more.");
    if (load->friends > FRIENDS_MANY) plan_warn(plan, "Friend lists have a cap of 5,000 by default.");
}

/* The work without which the fewest routers would do. Cores, as for warn_routers. */
static const char *limit_of(const struct planning *planning, double join, double observing, double sending) {
    double room = planning->usable - observing;
    if (room <= 0) return "observing";
    double unobserved = (join + sending) / planning->usable, unsent = join / room, unjoined = sending / room;
    if (unobserved < fmin(unsent, unjoined)) return "observing";
    return unsent < unjoined ? "batches" : "CPU";
}

void plan_routers(struct planning *planning) {
    const struct plan_load *load = planning->load;
    const double *f = planning->figure;
    struct plan *plan = planning->plan;
    double join = US * plan->reports * report_us(f, load->friends),
           observing = US * plan->reports * f[FIGURE_ROUTER_OBSERVE_US];
    double disk = load->users * load->friends * f[FIGURE_ROUTER_FRIEND_BYTES] * plan_least(load);
    double by_disk = ceil(plan_disks(load, disk)), fewest = fmax(plan_least(load), by_disk);
    double routers = 0, sending = 0, each = INFINITY;
    bool found = false;
    // At least once: disks may need more than ROUTERS_MOST.
    for (int more = 0; !found && (more == 0 || fewest + more <= ROUTERS_MOST); more++) {
        routers = fewest + more;
        sending = US * deliveries_batches(planning, routers) * f[FIGURE_ROUTER_BATCH_US];
        each = (join + sending) / routers + observing * (1 - 1 / routers);
        found = each <= planning->usable;
    }
    if (!found) routers = NAN;
    planning->routers = routers;
    planning->rows_read += routers;
    plan->batches = deliveries_batches(planning, routers);
    struct plan_tier *tier = &plan->tiers[TIER_ROUTER];
    double half = plan->deliveries * f[FIGURE_ROUTER_BYTES] / f[FIGURE_ROUTER_DELIVERIES];
    *tier = (struct plan_tier){
        .name = "router",
        .cores = each * routers,
        .processes = routers,
        .memory = f[FIGURE_PROCESS_MB] * MB + ROUTER_STORE + load->online * f[FIGURE_ROUTER_PRESENCE_BYTES],
        .disk = disk,
        .in = plan->reports * f[FIGURE_BROKER_REPORT_BYTES] * routers,
        .out = half,
        .broker_cores =
            plan_copied(planning, US * (plan->deliveries / f[FIGURE_ROUTER_DELIVERIES] * f[FIGURE_BROKER_JOIN_US] +
                                        plan->batches * f[FIGURE_BROKER_REQUEST_US])) +
            US * plan->reports * f[FIGURE_BROKER_OBSERVE_US] * (routers - 1),
        .limit = limit_of(planning, join, observing, sending),
    };
    if (found && routers == by_disk) tier->limit = "disk";
    warn_routers(planning, found, join, observing, sending);
}
