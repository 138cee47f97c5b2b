/* The uplink produces the records of `locations` for sessions that have a place, keyed by the user: their reports, and that a session
 * came, wants its list again, or went.
 *
 *     JOIN      the first report since the session came, or since its user opted in: routers answer with the list
 *     REPORT    each later one, at most one in edge.min.report.ms; one that comes sooner is held, and the newest goes out. They wait for
 *               each other a little where a request to a broker would else hold hardly more than one (uplink_gathering_ms)
 *     REJOIN    the list is asked for again; also by a session that has said nothing for a third of the inactive window, so that routers go
 *               on to know of it, and it hears where its user is by another device (docs/EXACTNESS.md, rule 5)
 *     QUIT      the connection is gone, or that of the phone's session before is
 *
 * It produces nothing for a user who is opted out; it keeps the newest place, and sends it as a JOIN when the user opts in. While no
 * broker is there, reports stay unsent; they go out when one is back, a few sessions in each turn of the loop.
 *
 * Loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/metrics.h"
#include "fanout/nearby/nearby.h"
#include "fanout/nearby/request.h"
#include "fanout/sessions.h"

struct uplink;

/* One session's part, inside of the nearby screen's; uplink.c's own. */
struct reporter {
    /* uplink_deadline looks at these. */
    int64_t report_ms; /* clock_coarse_ms: its report is held back until then, or the next one is */
    int64_t rejoin_ms; /* when it asks for its list; 0: it does not */
    int64_t word_ms;   /* when it has said nothing for too long; looked at while it is joined */
    bool held;         /* held_report is to be produced at report_ms */

    bool joined;                   /* a JOIN was produced since it opted in */
    bool shown;                    /* friends are told its details */
    int32_t accuracy;              /* of the latest report */
    struct session *session;       /* NULL: it has not reported yet */
    struct nearby *list;           /* holds its place */
    int64_t number;                /* the session's */
    int64_t before;                /* of the phone's session before, whose QUIT goes in front of the JOIN; 0: of none */
    struct report_details details; /* of the latest report */
    struct reporter *unsent_next,
        **unsent_link; /* uplink->unsent: its latest report is not produced, or waits for others; link NULL: it is */
    struct report
        held_report; /* its place counts once routers are told: they would not send whom it brings near again */
};

enum {
    UPLINK_SLICE = 256,      /* unsent reports that are produced in one turn */
    UPLINK_REQUESTS_S = 100, /* so many requests of an edge's producer cost its brokers little, whatever they hold */
    UPLINK_RECORDS = 4       /* reports that make a request worth its while */
};

/* How long reports wait for others (ms), beside what the producer waits by itself: as long as requests would be more than UPLINK_REQUESTS_S
 * and hold fewer than UPLINK_RECORDS. librdkafka sends a request for each partition; of reports_s there is one for each in linger_ms and
 * the time until the first one comes. Both waits together are most_ms at most. */
int64_t uplink_gathering_ms(double reports_s, int32_t partitions, int64_t linger_ms, int64_t most_ms);

struct uplink_options {
    uv_loop_t *loop;
    struct metrics *metrics;
    struct sessions *sessions;
    int64_t min_report_ms, inactive_ms;
    int64_t linger_ms, gather_most_ms; /* what the producer waits by itself; with what reports wait for others */
    int32_t partitions;                /* of `locations` */
    void *context;
    /* The user's sharing now: whether it is on, and the number of the record that says so. */
    bool (*shares)(void *context, int64_t user, int64_t *opted);
    bool (*shows_details)(void *context, int64_t user); /* what the phone says beside the place is told to friends */
    bool (*up)(void *context);                          /* a broker is there */
    /* Produces a record of `locations`; `opaque` comes back by uplink_produced. 0, or a negative errno code. */
    int (*send)(void *context, const void *key, size_t key_size, const void *value, size_t size, void *opaque);
    void (*moved)(void *context, struct reporter *reporter); /* the session's place (list) is another one */
};

struct uplink *uplink_new(const struct uplink_options *options);
void uplink_free(struct uplink *uplink); /* after the last reporter; NULL is fine */

/* The phone's session before had that number; uplink_begin comes later. */
static inline void uplink_follow(struct reporter *reporter, int64_t number);

/* The session says where it is for the first time; uplink_report comes next. The reporter is zero but for `before`. */
void uplink_begin(struct uplink *uplink, struct reporter *reporter, struct session *session, struct nearby *list);
void uplink_end(struct uplink *uplink, struct reporter *reporter); /* is about to be freed; also one that never began */

/* The phone's report: from now on or, if it is held back, later the session's own place, unless it is an older one. */
void uplink_report(struct uplink *uplink, struct reporter *reporter, const struct report *report);
/* A place from elsewhere: the session's own from now on, and Kafka is not told. */
void uplink_place(struct uplink *uplink, struct reporter *reporter, const struct report *report);
void uplink_rejoin(struct uplink *uplink, struct reporter *reporter);      /* asks for the complete list, now */
void uplink_rejoin_soon(struct uplink *uplink, struct reporter *reporter); /* within a second: its route is another */
void uplink_opted_out(struct uplink *uplink, struct reporter *reporter);
void uplink_opted_in(struct uplink *uplink, struct reporter *reporter); /* one that has not joined */
void uplink_show(struct uplink *uplink, struct reporter *reporter);     /* whether details are told may have changed */
void uplink_leave(struct uplink *uplink, struct reporter *reporter);    /* a report that is held back goes out now */
void uplink_quit(struct uplink *uplink, struct reporter *reporter);     /* a QUIT; one that is lost is made good by the
                                                                        next JOIN or by inactivity */

int64_t uplink_deadline(const struct reporter *reporter); /* when uplink_due must be called; INT64_MAX: never */
void uplink_due(struct uplink *uplink, struct reporter *reporter);

/* The producer's word about a record of `locations`. */
void uplink_produced(struct uplink *uplink, void *opaque, int code);

static inline bool uplink_joined(const struct reporter *reporter) { return reporter->joined; }
static inline int64_t uplink_number(const struct reporter *reporter) { return reporter->number; }
static inline void uplink_follow(struct reporter *reporter, int64_t number) { reporter->before = number; }
