/* The router whole: what its parts share. The parts that decide things (presence, join, friendship, graph, overlay,
 * consents, excess, timeline, lots) do not know it; those that connect them to Kafka, the loop and HTTP do:
 *
 *     router.c     makes and ends it, timers             warmup.c     presence before the group is joined
 *     ownership.c  the group's consumer, who owns what   reports.c    locations: presence, join, telling
 *     overload.c   what is not joined when far behind
 *     relations.c  friendships and sharing of owned      sending.c    everything that is produced, and its fate
 *                  partitions, and of stand-bys          peer.c       questions of other processes
 *     standby_watch.c  for whom this one stands by
 */
#ifndef ROUTER_STATE_H
#define ROUTER_STATE_H

#include "router/checkpoint.h"
#include "router/commands.h"
#include "router/consents.h"
#include "router/excess.h"
#include "router/overload.h"
#include "router/settings.h"
#include "router/standby_metrics.h"
#include "router/telling.h"
#include "router/timeline.h"
#include "service/service.h"

/* What the owner knows of a partition.
 *
 *     FOREIGN --assigned--> ASKING --offsets and ends are known--> RESTORING --read up to there--> LIVE
 *
 * FOREIGN and LIVE partitions of locations are read, the latter joined; friend commands are read when commands_live. The friend
 * lists of a FOREIGN one are kept up to date where this process stands by for it (relations.c): it is then RESTORING for as long
 * as it takes to read the rest. */
enum partition_stage { PARTITION_FOREIGN, PARTITION_ASKING, PARTITION_RESTORING, PARTITION_LIVE };

struct partition {
    enum partition_stage stage;
    int64_t next;        /* next offset of locations to handle */
    int64_t first;       /* where warming up began: what an owner begins with when nothing was ever committed */
    int64_t settled;     /* what was handled before this offset is acknowledged, or was so when ownership began */
    int64_t committed;   /* what the group was told of that; -1: nothing, or it did not hear it */
    uint64_t live_epoch; /* the one that was open when it became LIVE: the first that says anything about its offsets */
    int64_t handled_ms;  /* Kafka timestamp of the location last handled */
    int64_t current_ms;  /* when nothing was left to read, last; 0: never yet */
    bool resumed;        /* the next location handled is the first after an assignment */

    int64_t friendships_end, sharing_end; /* RESTORING: read up to here */
    bool commands_asked, commands_live;
    int64_t commands_from, commands_end; /* offset to begin with; friendships must be read up to here */
};

struct standby;
struct warmup;
struct ownership;
struct relations;
struct peer;

struct router {
    struct service *service;
    uv_loop_t *loop;
    struct log *log;
    const struct service_settings *common;
    const struct router_settings *settings;
    const struct kafka_settings *kafka;
    int32_t partitions, routes;
    struct router_metrics metrics;
    struct standby_metrics members;

    struct presence *presence;
    struct timeline *timeline;
    struct deliver *outbox;
    struct epochs *epochs; /* of everything that goes out: only what is settled is committed */
    struct graph *graph;
    struct checkpoints *checkpoints;
    struct consents *consents;
    struct excess *excess;
    struct commands *commands;
    struct overload *overload;
    struct codec *codec;
    struct join_result result;
    uint32_t join_count; /* which of them are timed */
    struct friend_list friends;
    struct buffer value;

    struct kafka_producer *producer;
    struct standby *standby;
    struct warmup *warmup;
    struct ownership *ownership;
    struct relations *relations;
    struct peer *peer;
    struct partition *parts;

    struct loop_timer *second, *tenth, *retry;
    bool started; /* its friend lists are open; before that there is hardly anything of it */
    bool warm;
    bool lagging; /* more than a second behind: no digests */
    bool draining;
    bool hands_over;               /* before it ends */
    bool stopped;                  /* takes no more input */
    int wait_tenths, drain_tenths; /* since draining began, and since input stopped */
};

static inline bool partition_owned(const struct partition *part) { return part->stage != PARTITION_FOREIGN; }

/* ---- router.c ---- */

/* A record that nobody can read goes to its dead letters. */
void router_undecodable(struct router *router, const struct kafka_record *record, const char *reason);

/* The context of a join, as of now. */
struct join_context router_join_context(const struct router *router);

/* A failure of the friend lists' store: there is no going on without it. */
void router_store_failed(struct router *router, const struct error *error);

/* ---- sending.c ---- */

int sending_start(struct router *router, struct error *error);

/* LEAVE {opted} of a user; ticket of consents, 0: nobody waits for its fate. 0 or -EAGAIN, ... */
int sending_leave(struct router *router, int64_t user, int64_t opted, uint64_t ticket);

/* REMOVE of a friendship that is too many; ticket of excess. */
int sending_remove(struct router *router, const struct excess_item *item);

/* The outbox's sender; the router is its context. */
int sending_batch(void *context, int32_t route, const void *bytes, size_t size, uint64_t epoch);

/* ---- reports.c ---- */

/* One location. owned: it is joined; else it only feeds presence. now_us: monotonic. */
void reports_handle(struct router *router, const struct kafka_record *record, bool owned, int64_t now_us);

/* What reports_handle does with one of an owned partition when it is not held (overload.h). The record's value is not used. */
void reports_join(struct router *router, const struct kafka_record *record, const struct location *event,
                  int64_t now_us);

/* Two have become friends, or have parted: the user, whose list it is, is told. */
void reports_befriended(struct router *router, int64_t user, int64_t other);
void reports_parted(struct router *router, int64_t user, int64_t other);

/* ---- standby_watch.c ---- */

/* Asks the group who its members are. Before this process joins, it reads the friend lists of what it would own; on_prepared is
 * called once, when that is done, or when there is nobody who would serve them meanwhile. */
int standby_new(struct router *router, void (*on_prepared)(struct router *router), struct standby **standby,
                struct error *error);
void standby_free(struct standby *standby); /* not while busy; NULL is fine */
bool standby_busy(const struct standby *standby);
void standby_look(struct standby *standby);     /* members may have changed: asks now */
void standby_progress(struct standby *standby); /* ten times a second */

/* How a static member that is to end does it: asked again and again until it is known. */
enum standby_end { STANDBY_WAIT, STANDBY_END, STANDBY_HAND_OVER };
enum standby_end standby_end(struct standby *standby);

/* ---- standby_metrics.c ---- */

void standby_measure(struct router *router); /* once a second */

/* ---- warmup.c ---- */

/* Reads the newest part of the window, calls on_first, reads the rest, sets router->warm. */
int warmup_new(struct router *router, void (*on_first)(struct router *router), struct warmup **warmup,
               struct error *error);
void warmup_free(struct warmup *warmup); /* not while busy; NULL is fine */
bool warmup_busy(const struct warmup *warmup);

/* ---- ownership.c ---- */

int ownership_new(struct router *router, struct ownership **ownership, struct error *error);
void ownership_free(struct ownership *ownership); /* not while busy; leaves the group; NULL is fine */
bool ownership_busy(const struct ownership *ownership);
void ownership_stop(struct ownership *ownership); /* no more input; commits go on */

const char *ownership_member(const struct ownership *ownership); /* the broker's id of this member; NULL: none */
bool ownership_assigned(const struct ownership *ownership);      /* the group has given it what it owns */

/* Whether questions about the partition's friends may be answered: 0, -ESTALE (not the owner), -EAGAIN (not yet). */
int ownership_serves(const struct ownership *ownership, int32_t partition);

void ownership_progress(struct ownership *ownership);      /* something was read: partitions may be ready for more */
void ownership_second(struct ownership *ownership);        /* once a second: epochs and commits */
void ownership_measure(struct ownership *ownership);       /* ten times a second: lag */
void ownership_hold(struct ownership *ownership);          /* input waits while output is full */
bool ownership_settled(const struct ownership *ownership); /* stopped, and all that was handled is told */

/* Has the group give what is owned to others. True when that is done, or cannot be. */
bool ownership_leave(struct ownership *ownership);

/* A batch was lost: what is not settled is handled again. */
void ownership_rewind(struct ownership *ownership);

/* The commands must be begun again. The partition's friend lists are being read anew. */
void ownership_reset_commands(struct ownership *ownership);
void ownership_restore_again(struct ownership *ownership, int32_t partition);

void ownership_commit_positions(struct ownership *ownership, const struct kafka_position *positions, size_t count);

/* ---- relations.c ---- */

int relations_new(struct router *router, struct relations **relations, struct error *error);
void relations_free(struct relations *relations); /* not while busy; NULL is fine */
bool relations_busy(const struct relations *relations);
void relations_progress(struct relations *relations); /* friend lists that were read whole may be put together */

/* Takes a partition's friendships and sharing (told: committed offset of it) to be read, or no longer, from the next
 * relations_read on; a partition is named once in between. */
int relations_attach(struct relations *relations, int32_t partition, int64_t told, struct error *error);
void relations_detach(struct relations *relations, int32_t partition);
int relations_read(struct relations *relations, struct error *error);

/* Friendships (sharing) is applied up to that offset. An end of 0 is reached always. */
bool relations_reached(const struct relations *relations, int32_t partition, int64_t friendships, int64_t sharing);

/* Keeps the partition's friend lists and sharing up to date in silence, from the next relations_read on; one that was attached
 * goes on from where it is. relations_attach and relations_detach end it. */
int relations_standby(struct relations *relations, int32_t partition, struct error *error);
bool relations_stands_by(const struct relations *relations, int32_t partition);
int64_t relations_standby_lag(const struct relations *relations, int32_t partition); /* records; -1: not known yet */
int64_t relations_left(const struct relations *relations, int32_t partition, int64_t end); /* of friendships */

/* Restored: what follows is news. Writes what is queued. */
void relations_live(struct relations *relations, int32_t partition);
void relations_second(struct relations *relations);
bool relations_current(const struct relations *relations); /* nothing is left to read of what is live */

/* ---- peer.c ---- */

struct peer *peer_new(struct router *router);
void peer_free(struct peer *peer); /* waiting requests are answered 503; NULL is fine */
void peer_handle(struct peer *peer, struct http_request *request);
void peer_handled(struct peer *peer); /* commands were handled, or partitions lost: those who wait may be answered */

#endif
