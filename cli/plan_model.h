/* How many processes, machines and partitions a load needs, by the measured figures. Pure arithmetic; any thread.
 *
 *     load (people and what they do a second) + figures (what one unit costs) -> tiers (what each needs, and its limit)
 *
 * One process is one event loop, and may use (1 - headroom) of a core, and of disk as much as a machine has. Two kinds of work do not shrink when processes are added: every
 * router observes all reports, and every feed process takes all hot posts. If these alone fill a process, there is no plan: the
 * plan is refused, with the reason among its warnings (docs/SCALING.md says what then). Followers are distributed as in
 * bench/feed_model.py.
 */
#ifndef CLI_PLAN_MODEL_H
#define CLI_PLAN_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/plan_figures.h"

struct plan_load {
    double online;   /* users with a session */
    double users;    /* of a day: friend lists, copies and inboxes are kept for them */
    double every_s;  /* seconds between two reports of a user online */
    double friends;  /* of each */
    double near;     /* share of a user's friends who are online and near */
    double http;     /* share of reports that come over HTTP */
    double stay_s;   /* how long a connection lasts */
    double tls;      /* share of connections whose TLS the edge ends */
    double window_s; /* edge.flush.window.ms */
    double flush_s;  /* outbox.flush.ms */

    double posts, pages; /* a second */
    double followers;    /* of an author, mean */
    double push_max;     /* feed.push.max */
    double hot_days;     /* feed.hot.days */

    double comments, likes, comment_pages, hot_reads; /* a second */
    double hot_subjects;                              /* hot_reads are of so many */

    double history_days; /* rows are kept; 0: no sinks */
    double content_days; /* of posts and comments that are counted on disks */

    double replication;
    double cores, memory_gb, disk_tb, gbit; /* of a machine */
    double headroom;                        /* share of each core and line that stays free */
    double sessions;                        /* edge.max.sessions */
};

enum plan_tier_id {
    TIER_EDGE,
    TIER_ROUTER,
    TIER_INGEST,
    TIER_FEED,
    TIER_COMMENTS,
    TIER_HISTORY,
    TIER_MODERATION,
    TIER_BROKER,
    TIER_COUNT
};

/* NAN: no number is enough, or it follows from a tier for which none is. */
struct plan_tier {
    const char *name;
    double cores;        /* that its work keeps busy, all processes together */
    double processes;    /* 0: not needed */
    double memory;       /* bytes a process */
    double disk;         /* bytes, all processes; of brokers with all copies */
    double in, out;      /* bytes a second, all processes */
    double broker_cores; /* that it keeps busy at the brokers, by writing (all copies) and asking; 0 for these */
    const char *limit;   /* what decides how many processes */
    double machines;     /* that it fills */
};

enum { PLAN_WARNINGS_MAX = 40, PLAN_PARTITIONS_MAX = 1024, PLAN_ROUTES_MAX = 10000 };

struct plan {
    double reports, deliveries, frames, hellos, batches, entries,
        hot; /* a second; entries of inboxes, posts that are hot */
    struct plan_tier tiers[TIER_COUNT];
    double partitions, routes; /* of all topics but deliveries; of deliveries */
    double machines, cores;    /* of all tiers */
    bool refused;
    char *warnings[PLAN_WARNINGS_MAX];
    size_t warning_count;
};

/* Everything of plan is set. plan_clear frees what it holds. */
void plan_compute(const struct plan_load *load, const struct plan_figures *figures, struct plan *plan);
void plan_clear(struct plan *plan);

/* Of the posts of authors whose followers are distributed so: the share that has more than push_max followers, and the inbox
 * entries a post of the others and of these leads to, on average over all posts. */
double plan_hot_share(double followers, double push_max);
double plan_entries(double followers, double push_max);

#endif
