#include "service/denials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "budget/network.h"

enum { AGAIN_S = 60, KEPT_MAX = 256 };

struct denial {
    char *reason;
    uint64_t network;       /* 0: Kafka's, or not known */
    int64_t said_us, times; /* since it was said */
};

struct denials {
    struct log *log;
    struct metrics *metrics;
    uv_mutex_t lock; /* of the list */
    struct denial list[KEPT_MAX];
    size_t count;
};

struct denials *denials_new(struct log *log, struct metrics *metrics) {
    struct denials *denials = mem_zero(1, sizeof *denials);
    denials->log = log;
    denials->metrics = metrics;
    uv_mutex_init(&denials->lock);
    return denials;
}

void denials_free(struct denials *denials) {
    if (!denials) return;
    for (size_t i = 0; i < denials->count; i++) free(denials->list[i].reason);
    uv_mutex_destroy(&denials->lock);
    free(denials);
}

/* The place of a new one: when all are taken, that of the one said longest ago, if its minute is over, and else the last one's, which
 * many then share. NULL: share the last one. */
static struct denial *free_place(struct denials *denials) {
    if (denials->count < KEPT_MAX) return &denials->list[denials->count++];
    struct denial *oldest = denials->list;
    for (size_t i = 1; i < KEPT_MAX; i++)
        if (denials->list[i].said_us < oldest->said_us) oldest = &denials->list[i];
    if (clock_monotonic_us() - oldest->said_us < (int64_t)AGAIN_S * 1000000) return NULL;
    free(oldest->reason);
    return oldest;
}

static struct denial *entry_of(struct denials *denials, const char *reason, uint64_t network) {
    for (size_t i = 0; i < denials->count; i++) {
        struct denial *entry = &denials->list[i];
        if (entry->network == network && !strcmp(entry->reason, reason)) return entry;
    }
    struct denial *place = free_place(denials);
    if (!place) return &denials->list[KEPT_MAX - 1];
    *place = (struct denial){.reason = mem_string(reason), .network = network};
    return place;
}

/* How often it was denied, if that is to be said now; else 0. */
static int64_t due(struct denials *denials, const char *reason, uint64_t network) {
    uv_mutex_lock(&denials->lock);
    struct denial *entry = entry_of(denials, reason, network);
    int64_t times = ++entry->times;
    if (log_due(&entry->said_us, AGAIN_S))
        entry->times = 0;
    else
        times = 0;
    uv_mutex_unlock(&denials->lock);
    return times;
}

void denials_add(void *context, const char *reason) {
    struct denials *denials = context;
    if (due(denials, reason, 0)) log_error(denials->log, "Kafka refuses", LOG_TEXT("reason", reason));
}

void denials_refuse(struct denials *denials, const char *reason, uint64_t network) {
    char labels[64], from[NETWORK_TEXT] = "unknown";
    snprintf(labels, sizeof labels, "reason=\"%s\"", reason);
    metrics_counter(denials->metrics, "starling_access_refused_total", "Callers that were refused.", labels)->value++;
    int64_t times = due(denials, reason, network);
    if (network) network_text(network, from);
    if (times)
        log_warn(denials->log, "access refused", LOG_TEXT("reason", reason), LOG_TEXT("network", from),
                 LOG_INT("times", times));
}
