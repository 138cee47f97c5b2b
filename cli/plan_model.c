#include "cli/plan_private.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/config.h"
#include "base/mem.h"
#include "event/topics.h"

enum {
    DAY_S = 86400,
    DELIVERIES_S = 600,  /* how long Kafka keeps deliveries; a day: locations and timelines */
    INBOX_ENTRIES = 800, /* feed.inbox.max */
    POSTS_A_PAGE = 20,
    STORED_COMMENTS = 20000000,
    COPY_MEASURED = 10000000, /* users of the copy of sharing whose size was measured */
    HOT_COPY_S = 1,           /* how long a gateway keeps a hot page */
    MAPS = 65530,             /* vm.max_map_count of Linux by default */
    PARTITIONS_LEAST = 16,
    ROUTES_LEAST = 64
};

/* Memory and disk beside what is counted: caches of files and the kernel; files that are merged, with those that replace them. */
#define SPARE 1.25
#define FOLLOWERS_A 1.3        /* of their distribution */
#define OWNER_STORE (256 * MB) /* of feed and comments */
#define ROWS_BEYOND 10         /* times the rows that were measured: more are said */

double plan_hot_share(double followers, double push_max) {
    double scale = followers * (FOLLOWERS_A - 1);
    return followers > 0 ? pow(1 + push_max / scale, -FOLLOWERS_A) : 0;
}

double plan_entries(double followers, double push_max) {
    if (followers <= 0) return 0;
    double scale = followers * (FOLLOWERS_A - 1);
    return followers * (1 - pow(1 + push_max / scale, 1 - FOLLOWERS_A)) -
           push_max * plan_hot_share(followers, push_max);
}

void plan_warn(struct plan *plan, const char *format, ...) {
    if (plan->warning_count == PLAN_WARNINGS_MAX) return;
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    plan->warnings[plan->warning_count++] = mem_string(text);
}

double plan_least(const struct plan_load *load) { return load->replication > 1 ? 2 : 1; }

double plan_enough(const struct planning *planning, double work, double shared) {
    double room = planning->usable - shared;
    return room > 0 ? fmax(plan_least(planning->load), ceil(work / room)) : NAN;
}

double plan_disks(const struct plan_load *load, double bytes) { return bytes * SPARE / (load->disk_tb * TB); }

double plan_copied(const struct planning *planning, double cores) {
    const double *f = planning->figure;
    // Further copies were measured for requests with one record. Those of all other writes count in the same proportion.
    double copy = f[FIGURE_BROKER_COPY_US] / f[FIGURE_BROKER_REQUEST_US];
    return cores * (1 + (planning->load->replication - 1) * copy);
}

/* The larger of what the tier has and this; NAN if either is. */
static void take_larger(struct plan_tier *tier, double processes, const char *limit) {
    if (isnan(tier->processes) || processes <= tier->processes) return;
    tier->processes = processes;
    tier->limit = limit;
}

/* So many processes, or as many as have room for the tier's data. */
static void set_processes(const struct planning *planning, struct plan_tier *tier, double by_cpu) {
    tier->processes = by_cpu;
    tier->limit = "CPU";
    take_larger(tier, ceil(plan_disks(planning->load, tier->disk)), "disk");
}

static double power_of_two(double wanted, double from) {
    double found = from;
    while (found < wanted) found *= 2;
    return found;
}

/* The copy is a hash table that doubles when 7/8 of it are full (base/map.h). */
static double copy_slots(double users) { return power_of_two(users * 8 / 7, 1); }

double plan_copies(const struct planning *planning) {
    double slot_bytes = planning->figure[FIGURE_COPY_BYTES] * COPY_MEASURED / copy_slots(COPY_MEASURED);
    return copy_slots(planning->load->users) * slot_bytes;
}

/* ---- HTTP, feed, comments ---- */

static void plan_gateways(struct planning *planning) {
    const struct plan_load *load = planning->load;
    const double *f = planning->figure;
    struct plan_tier *tier = &planning->plan->tiers[TIER_INGEST];
    double reports = planning->plan->reports * load->http,
           writes = reports + load->posts + load->comments + load->likes;
    *tier = (struct plan_tier){
        .name = "ingest",
        .cores =
            US * (writes * f[FIGURE_INGEST_REPORT_US] + load->pages * f[FIGURE_FEED_GATEWAY_US] +
                  load->comment_pages * f[FIGURE_COMMENTS_GATEWAY_US] + load->hot_reads * f[FIGURE_COMMENTS_HOT_US]),
        .memory = f[FIGURE_PROCESS_MB] * MB + plan_copies(planning),
        .in = writes * f[FIGURE_EDGE_MESSAGE_BYTES],
        .out = load->pages * f[FIGURE_FEED_PAGE_BYTES] +
               (load->comment_pages + load->hot_reads) * f[FIGURE_COMMENTS_PAGE_BYTES],
        .broker_cores = plan_copied(planning, US * writes * f[FIGURE_BROKER_REQUEST_US]),
    };
    planning->report_requests += reports;
    set_processes(planning, tier, plan_enough(planning, tier->cores, 0));
}

/* Cores that each feed process needs for the hot posts of all. */
static double hot_cores(const struct planning *planning, double push_max) {
    const double *f = planning->figure;
    return US * planning->load->posts * plan_hot_share(planning->load->followers, push_max) *
           (f[FIGURE_FEED_HOT_READ_US] + f[FIGURE_FEED_HOT_PUT_US]);
}

/* The least round number of followers that leaves half of a process for its own work. */
static double push_max_wanted(const struct planning *planning) {
    double found = planning->load->push_max;
    for (int64_t step = 1000; step < INT64_MAX / 100 && hot_cores(planning, found) > planning->usable / 2; step *= 10)
        for (int64_t i = 1; i < 10 && hot_cores(planning, found) > planning->usable / 2; i++)
            found = fmax(found, (double)(i * step));
    return found;
}

static void plan_feeds(struct planning *planning) {
    const struct plan_load *load = planning->load;
    const double *f = planning->figure;
    struct plan *plan = planning->plan;
    struct plan_tier *tier = &plan->tiers[TIER_FEED];
    plan->hot = load->posts * plan_hot_share(load->followers, load->push_max);
    plan->entries = load->posts * plan_entries(load->followers, load->push_max);
    *tier = (struct plan_tier){.name = "feed"};
    if (load->posts <= 0 && load->pages <= 0) return;
    double own = US * (load->pages * f[FIGURE_FEED_PAGE_US] + load->posts * f[FIGURE_FEED_POST_US] +
                       plan->entries * f[FIGURE_FEED_ENTRY_US]);
    double shared = hot_cores(planning, load->push_max);
    double hot_bytes = plan->hot * DAY_S * load->hot_days * f[FIGURE_FEED_HOT_BYTES];
    tier->memory = f[FIGURE_PROCESS_MB] * MB + OWNER_STORE + hot_bytes;
    tier->disk =
        plan_least(load) * (load->users * INBOX_ENTRIES * f[FIGURE_FEED_INBOX_BYTES] +
                            load->posts * DAY_S * load->content_days * f[FIGURE_FEED_PAGE_BYTES] / POSTS_A_PAGE);
    set_processes(planning, tier, plan_enough(planning, own, shared));
    tier->cores = own + shared * tier->processes;
    tier->in = plan->entries * f[FIGURE_FEED_ENTRY_BYTES];
    tier->out = load->pages * f[FIGURE_FEED_PAGE_BYTES] + tier->in;
    tier->broker_cores = plan_copied(
        planning, US * (load->posts * f[FIGURE_BROKER_POST_US] + plan->entries * f[FIGURE_BROKER_ENTRY_US]));
    if (isnan(tier->processes)) {
        plan->refused = true;
        plan_warn(
            plan,
            "No number of feed processes is enough: each takes all %.0f hot posts/s. With feed.push.max=%.0f (--push-max) "
            "it would be.",
            plan->hot, push_max_wanted(planning));
    }
    if (hot_bytes > GB)
        plan_warn(plan, "Hot posts take %.1f GB in each feed process. Raise feed.push.max, or lower feed.hot.days.",
                  hot_bytes / GB);
}

static void plan_comments(struct planning *planning) {
    const struct plan_load *load = planning->load;
    const double *f = planning->figure;
    struct plan_tier *tier = &planning->plan->tiers[TIER_COMMENTS];
    *tier = (struct plan_tier){.name = "comments"};
    if (load->comments + load->likes + load->comment_pages + load->hot_reads <= 0) return;
    // Each gateway keeps its own copy of each hot page, and asks for it anew; never more often than it is read.
    double builds =
        fmin(load->hot_reads, planning->plan->tiers[TIER_INGEST].processes * load->hot_subjects / HOT_COPY_S);
    double comment_bytes = f[FIGURE_COMMENTS_STORE_GB] * GB / STORED_COMMENTS;
    tier->cores = US * (load->comments * f[FIGURE_COMMENTS_COMMENT_US] + load->likes * f[FIGURE_COMMENTS_LIKE_US] +
                        (load->comment_pages + builds) * f[FIGURE_COMMENTS_PAGE_US]);
    tier->memory = f[FIGURE_PROCESS_MB] * MB + OWNER_STORE;
    tier->disk = plan_least(load) * load->comments * DAY_S * load->content_days * comment_bytes;
    set_processes(planning, tier, plan_enough(planning, tier->cores, 0));
    tier->in = (load->comments + load->likes) * comment_bytes;
    tier->out = (load->comment_pages + builds) * f[FIGURE_COMMENTS_PAGE_BYTES] + tier->in;
    tier->broker_cores = plan_copied(
        planning, US * (load->comments * f[FIGURE_BROKER_COMMENT_US] + load->likes * f[FIGURE_BROKER_LIKE_US]));
}

static void plan_moderation(struct planning *planning) {
    const struct plan_load *load = planning->load;
    const double *f = planning->figure;
    struct plan_tier *tier = &planning->plan->tiers[TIER_MODERATION];
    *tier = (struct plan_tier){.name = "moderation", .limit = "stand-by"};
    if (load->comments <= 0) return;
    double each = US * load->comments * f[FIGURE_MODERATION_COMMENT_US];
    tier->processes = plan_least(load);
    tier->cores = each * tier->processes;
    tier->memory = f[FIGURE_PROCESS_MB] * MB;
    tier->disk = tier->processes * load->comments * DAY_S * load->content_days * f[FIGURE_MODERATION_FILE_MB];
    if (each <= planning->usable) return;
    planning->plan->refused = true;
    plan_warn(planning->plan,
              "A moderation process takes all comments, and %.0f/s fill %.2f cores. More processes do not help.",
              load->comments, each);
}

/* The rows that a sink would hold, if that is far from what was measured. */
static void warn_sinks(const struct planning *planning, double rows) {
    const double *f = planning->figure;
    double measured = f[FIGURE_HISTORY_STORED_MILLIONS] * 1e6, hours = rows / f[FIGURE_HISTORY_RESTORE_ROWS] / 3600;
    if (rows <= ROWS_BEYOND * measured) return;
    plan_warn(
        planning->plan,
        "A history sink would hold %.2g rows, %.0f times the store that was measured; a lost store comes back from "
        "files after %.1f %s of a whole core. Lower --history-days, or start more sinks.",
        rows, rows / measured, hours < 48 ? hours : hours / 24, hours < 48 ? "hours" : "days");
}

static void plan_sinks(struct planning *planning) {
    const struct plan_load *load = planning->load;
    const double *f = planning->figure;
    struct plan_tier *tier = &planning->plan->tiers[TIER_HISTORY];
    *tier = (struct plan_tier){.name = "history sink"};
    if (load->history_days <= 0) return;
    double rows = planning->plan->reports * DAY_S * load->history_days;
    planning->rows_read++;
    tier->cores = planning->plan->reports / f[FIGURE_HISTORY_ROWS];
    tier->memory = f[FIGURE_HISTORY_MB] * MB;
    tier->disk = rows * (f[FIGURE_HISTORY_FILE_BYTES] + f[FIGURE_HISTORY_STORE_BYTES]);
    set_processes(planning, tier, plan_enough(planning, tier->cores, 0));
    warn_sinks(planning, rows / tier->processes);
    tier->in = planning->plan->reports * f[FIGURE_BROKER_REPORT_BYTES];
    tier->out = planning->plan->reports * f[FIGURE_HISTORY_FILE_BYTES];
    tier->broker_cores = US * planning->plan->reports * f[FIGURE_BROKER_OBSERVE_US];
}

/* ---- Kafka ---- */

static void plan_partitions(struct planning *planning) {
    struct plan *plan = planning->plan;
    static const enum plan_tier_id SHARE[] = {TIER_ROUTER, TIER_FEED, TIER_COMMENTS, TIER_HISTORY};
    double most = 0;
    bool known = true;
    const struct plan_tier *widest = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(SHARE); i++) {
        const struct plan_tier *tier = &plan->tiers[SHARE[i]];
        known &= !isnan(tier->processes);
        if (isnan(tier->processes) || tier->processes <= most) continue;
        most = tier->processes;
        widest = tier;
    }
    // Twice as many as processes, so that the tier can be doubled: the number of partitions cannot be changed later.
    plan->partitions = known ? fmin(PLAN_PARTITIONS_MAX, power_of_two(2 * most, PARTITIONS_LEAST)) : NAN;
    plan->routes = fmin(PLAN_ROUTES_MAX, power_of_two(1.5 * planning->edges, ROUTES_LEAST));
    if (most > PLAN_PARTITIONS_MAX) {
        plan->refused = true;
        plan_warn(plan, "%.0f processes of the tier %s cannot share 1,024 partitions, and more are refused.", most,
                  widest->name);
    } else if (2 * most > PLAN_PARTITIONS_MAX) {
        plan_warn(plan, "The tier %s cannot be doubled: 1,024 partitions are the most.", widest->name);
    }
    if (planning->edges > PLAN_ROUTES_MAX) {
        plan->refused = true;
        plan_warn(plan, "%.0f edges need a partition of deliveries each, and 10,000 are the most.", planning->edges);
    }
}

/* Machines for so many bytes a second in the busier direction. */
static double lines(const struct planning *planning, const struct plan_tier *tier) {
    return fmax(tier->in, tier->out) * 8 / (planning->load->gbit * 1e9 * planning->usable);
}

/* Readers ask each broker by itself, so that more brokers are asked more. Their number grows until it is enough. */
static void set_broker_cores(struct planning *planning, struct plan_tier *brokers) {
    struct plan_tier *tiers = planning->plan->tiers;
    double fetches[TIER_BROKER], before;
    do {
        before = brokers->processes;
        plan_fetches(planning, fetches);
        brokers->cores = 0;
        for (int i = 0; i < TIER_BROKER; i++) brokers->cores += tiers[i].broker_cores + fetches[i];
        take_larger(brokers, ceil(brokers->cores / (planning->usable * planning->load->cores)), "CPU");
    } while (brokers->processes > before);
    for (int i = 0; i < TIER_BROKER; i++) tiers[i].broker_cores += fetches[i];
}

static void plan_brokers(struct planning *planning) {
    const struct plan_load *load = planning->load;
    const double *f = planning->figure;
    struct plan *plan = planning->plan;
    struct plan_tier *tier = &plan->tiers[TIER_BROKER];
    double moves = plan->deliveries * f[FIGURE_ROUTER_BYTES] / f[FIGURE_ROUTER_DELIVERIES];
    double reports = plan->reports * f[FIGURE_BROKER_REPORT_BYTES],
           entries = plan->entries * f[FIGURE_FEED_ENTRY_BYTES];
    double comments = load->comments * f[FIGURE_COMMENTS_STORE_GB] * GB / STORED_COMMENTS;
    double posts = load->posts * f[FIGURE_FEED_PAGE_BYTES] / POSTS_A_PAGE;
    double written = reports + moves + entries + comments + posts;
    double partitions = (plan->partitions * (double)(TOPICS_ALL.count - 1) + plan->routes) * load->replication;
    *tier = (struct plan_tier){
        .name = "brokers",
        .disk =
            load->replication * (DAY_S * (reports + entries + load->content_days * (comments + posts)) +
                                 DELIVERIES_S * moves + load->users * load->friends * f[FIGURE_BROKER_FRIEND_BYTES]),
        .in = written * load->replication,
        .out = written * load->replication + reports * (planning->rows_read - 1),
    };
    tier->memory = f[FIGURE_BROKER_MB] * MB;
    tier->limit = "copies";
    tier->processes = load->replication;
    take_larger(tier, ceil(lines(planning, tier)), "network");
    take_larger(tier, ceil(plan_disks(load, tier->disk)), "disk");
    set_broker_cores(planning, tier);
    if (isnan(tier->processes)) tier->limit = "unknown";
    double maps = partitions / tier->processes * f[FIGURE_BROKER_MAPS];
    if (maps > MAPS)
        plan_warn(
            plan,
            "A broker has %.0f partitions, and %.0f memory maps: raise vm.max_map_count (65,530), or add brokers.",
            partitions / tier->processes, maps);
}

/* ---- machines ---- */

/* Warns of what fills the tier's machines before their cores do. */
static void warn_machines(struct planning *planning, const struct plan_tier *tier, double by_cores, double by_line,
                          double by_disk) {
    const struct plan_load *load = planning->load;
    struct plan *plan = planning->plan;
    double memory = tier->memory * SPARE / (load->memory_gb * GB), disk = by_disk / tier->processes;
    bool broker = tier == &plan->tiers[TIER_BROKER];
    if (memory > 1)
        plan_warn(plan, "A process of the tier %s needs %.1f GB: more than a machine has.", tier->name,
                  tier->memory / GB);
    else if (!broker && tier->processes * memory > by_cores)
        plan_warn(plan, "A process of the tier %s needs %.1f GB: a machine holds fewer than it has cores.", tier->name,
                  tier->memory / GB);
    if (disk > 1)
        plan_warn(plan, "A process of the tier %s needs %.1f TB of disk: more than a machine has.", tier->name,
                  tier->disk / tier->processes / TB);
    plan->refused |= memory > 1 || disk > 1;
    if (broker) return;
    if (by_line > fmax(1, by_cores))
        plan_warn(plan, "The tier %s needs %.0f machines for its network, and %.1f for its cores.", tier->name,
                  ceil(by_line), by_cores);
    if (by_disk > fmax(1, by_cores))
        plan_warn(plan, "The tier %s needs %.0f machines for its disks, and %.1f for its cores.", tier->name,
                  ceil(by_disk), by_cores);
}

/* A process has a core, and its share of the machine's memory, disk and line; a broker has a machine. */
static void plan_machines(struct planning *planning) {
    const struct plan_load *load = planning->load;
    struct plan *plan = planning->plan;
    for (int i = 0; i < TIER_COUNT; i++) {
        struct plan_tier *tier = &plan->tiers[i];
        bool broker = i == TIER_BROKER;
        double by_cores = tier->processes / (broker ? 1 : load->cores);
        double by_memory = tier->processes * tier->memory * SPARE / (load->memory_gb * GB);
        double by_line = lines(planning, tier), by_disk = plan_disks(load, tier->disk);
        tier->machines = broker || isnan(by_cores) ? by_cores : fmax(fmax(by_cores, by_memory), fmax(by_line, by_disk));
        if (!broker && tier->processes <= plan_least(load)) tier->limit = "stand-by";
        plan->machines += tier->machines;
        plan->cores += tier->cores;
        if (tier->processes > 0) warn_machines(planning, tier, by_cores, by_line, by_disk);
    }
    plan->machines = ceil(plan->machines);
    if (plan_copies(planning) > GB)
        plan_warn(plan, "Each edge and gateway holds a copy of sharing: %.1f GB.", plan_copies(planning) / GB);
    if (load->tls > 0) {
        double rate = planning->usable / US /
                      (planning->figure[FIGURE_EDGE_HELLO_US] + load->tls * planning->figure[FIGURE_EDGE_TLS_US]);
        plan_warn(plan, "With TLS an edge takes %.0f new connections/s with the CPU that it may use: edge.hello.rate.",
                  rate);
    }
}

void plan_compute(const struct plan_load *load, const struct plan_figures *figures, struct plan *plan) {
    *plan = (struct plan){.reports = load->online / load->every_s};
    plan->deliveries = plan->reports * load->friends * load->near;
    struct planning planning = {.load = load, .figure = figures->values, .plan = plan, .usable = 1 - load->headroom};
    plan_edges(&planning);
    plan_routers(&planning);
    plan_gateways(&planning);
    plan_feeds(&planning);
    plan_comments(&planning);
    plan_moderation(&planning);
    plan_sinks(&planning);
    plan_partitions(&planning);
    plan_edge_writes(&planning);
    plan_brokers(&planning);
    plan_machines(&planning);
}

void plan_clear(struct plan *plan) {
    for (size_t i = 0; i < plan->warning_count; i++) free(plan->warnings[i]);
    *plan = (struct plan){.warning_count = 0};
}
