/* Overload: when the router is far behind, it holds reports of its own partitions that are older than max.lag.s (backlog.h) until a newer
 * report of the same user supersedes them, or until reading has caught up. So the backlog costs one join a user and not one a
 * report. The same is done with the reports of one user whose joins have compared more friends than joins.user.rate allows: they are
 * joined once a second. The history, which other processes write, has all of them. Loop's thread. */
#pragma once

#include "base/loop.h"
#include "budget/rates.h"
#include "deliver/deliver.h"
#include "kafka/consumer.h"
#include "router/backlog.h"
#include "router/metrics.h"

struct overload;

struct overload_options {
    uv_loop_t *loop;
    int32_t partitions;
    int64_t limit_s;     /* 0: reports are not held for their age */
    struct rates *joins; /* friends that were compared, by user; borrowed */
    struct router_metrics *metrics;
    struct deliver *outbox; /* while it is blocked, no held reports are joined */
    void *context;
    void (*join)(void *context, const struct backlog_item *item, int64_t now_us); /* one that was held */
};

struct overload *overload_new(const struct overload_options *options);
void overload_free(struct overload *overload); /* drops held reports, none of which was committed; NULL is fine */

/* Takes a valid event of an owned partition. True: it is held; false: the caller joins it now. A held report of the same user has then
 * been joined already. */
bool overload_take(struct overload *overload, const struct kafka_record *record, const struct location *event,
                   int64_t now_us);

/* Joins all held reports: before partitions change hands or are read again, and before reading ends. */
void overload_settle(struct overload *overload);

/* Ten times a second: once reading has caught up, begins to join the held reports, some in each turn of the loop; once a second if they
 * are held for their number. lag_ms: how far reading is behind. */
void overload_measure(struct overload *overload, int64_t lag_ms);

/* Reports are held because the router is behind: presence is older than it looks. */
bool overload_holding(const struct overload *overload);

/* Lowers the partitions' next offsets to what may be committed. */
void overload_lower(const struct overload *overload, int64_t *offsets);
