/* What the router does when it is far behind: reports of its own partitions that are older than router.max.lag.s are held
 * (backlog.h) until they are superseded by a newer one of the same user, or until the reading has caught up; so the backlog
 * costs one join a user and not one a report. History, which other processes write, has all of them. Loop's thread. */
#ifndef ROUTER_OVERLOAD_H
#define ROUTER_OVERLOAD_H

#include "base/loop.h"
#include "deliver/deliver.h"
#include "kafka/consumer.h"
#include "router/backlog.h"
#include "router/metrics.h"

struct overload;

struct overload_options {
    uv_loop_t *loop;
    int32_t partitions;
    int64_t limit_s; /* 0: reports are never held */
    struct router_metrics *metrics;
    struct deliver *outbox; /* while it is blocked, nothing that is held is joined by and by */
    void *context;
    void (*join)(void *context, const struct backlog_item *item, int64_t now_us); /* one that was held */
};

struct overload *overload_new(const struct overload_options *options);
void overload_free(struct overload *overload); /* what is held is dropped: nothing of it was committed; NULL is fine */

/* An event of an owned partition, which was found worth handling. True: it is held; false: it is to be joined now, and what was
 * held of its user has been. */
bool overload_take(struct overload *overload, const struct kafka_record *record, const struct location *event,
                   int64_t now_us);

/* Joins everything that is held: before partitions change hands, are read again, or the reading ends. */
void overload_settle(struct overload *overload);

/* Ten times a second: joins what is held, by and by, once the reading has caught up. lag_ms: of the reading. */
void overload_measure(struct overload *overload, int64_t lag_ms);

bool overload_holding(const struct overload *overload); /* presence is older than it looks */

/* Lowers the partitions' next offsets to what may be committed. */
void overload_lower(const struct overload *overload, int64_t *offsets);

#endif
