#include "cli/status_verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kafka/consumer.h"

/* A group commits about once a second, so a lag of some seconds is nothing. */
enum { LATE_S = 30, LONGEST_TOLD_S = 86400, RECENT_S = 600 };

int64_t status_lag(const struct status_topic *topic, int partition) {
    int64_t committed = topic->last.committed[partition], end = topic->last.end[partition];
    if (committed == KAFKA_OFFSET_NONE) return end ? STATUS_UNKNOWN : 0;
    return end > committed ? end - committed : 0;
}

int64_t status_lag_total(const struct status_topic *topic) {
    int64_t total = 0;
    for (int i = 0; i < topic->partitions; i++) {
        int64_t lag = status_lag(topic, i);
        if (lag == STATUS_UNKNOWN) return STATUS_UNKNOWN;
        total += lag;
    }
    return total;
}

/* Reasons come in the order of their levels, as the members are judged before all else. */
static void add(struct status_verdict *verdict, enum status_level level, struct buffer reason) {
    verdict->reasons = mem_resize(verdict->reasons, verdict->reason_count + 1, sizeof *verdict->reasons);
    verdict->reasons[verdict->reason_count++] = reason;
    if (level > verdict->level) verdict->level = level;
}

static bool was_written(const struct status_topic *topic) {
    for (int i = 0; i < topic->partitions; i++)
        if (topic->last.end[i] > 0) return true;
    return false;
}

static bool has_input(const struct status_group *group) {
    for (size_t t = 0; t < group->topic_count; t++)
        if (was_written(&group->topics[t])) return true;
    return false;
}

static void judge_members(const struct status *status, struct status_verdict *verdict) {
    bool anybody = false;
    for (int i = 0; i < STATUS_GROUPS; i++) anybody |= status->groups[i].group.count > 0;
    for (int i = 0; i < STATUS_GROUPS; i++) {
        const struct status_group *group = &status->groups[i];
        // A product that nobody uses need not run; but where nothing runs at all, all of it is missed.
        if (group->group.count || (anybody && !has_input(group))) continue;
        struct buffer reason = {.data = NULL};
        buffer_format(&reason, "no %s run (group %s)", group->what, group->name);
        add(verdict, STATUS_DOWN, reason);
    }
}

__attribute__((format(printf, 3, 4))) static void add_text(struct status_verdict *verdict, enum status_level level,
                                                           const char *format, ...) {
    char text[160];
    struct buffer reason = {.data = NULL};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    buffer_string(&reason, text);
    add(verdict, level, reason);
}

/* Nobody can reach what runs behind. */
static void judge_front_down(const struct status_front *front, struct status_verdict *verdict) {
    if (front->gateways && !front->gateways_ready)
        add_text(verdict, STATUS_DOWN, "no gateway is ready: 0 of %zu", front->gateways);
    if (!front->gateways && front->silent && front->complete)
        add_text(verdict, STATUS_DOWN, "no gateway answers; of ops.addresses, %zu are silent", front->silent);
    if (front->edges && !front->edges_ready) add_text(verdict, STATUS_DOWN, "no edge is ready: 0 of %zu", front->edges);
}

static void judge_front_degraded(const struct status_front *front, struct status_verdict *verdict) {
    if (!front->gateways && !front->silent && front->complete)
        add_text(verdict, STATUS_DEGRADED, "none of the daemons at ops.addresses is a gateway");
    if (front->gateways_ready && front->gateways_ready < front->gateways)
        add_text(verdict, STATUS_DEGRADED, "not all gateways are ready: %zu of %zu", front->gateways_ready,
                 front->gateways);
    if (front->edges_ready && front->edges_ready < front->edges)
        add_text(verdict, STATUS_DEGRADED, "not all edges are ready: %zu of %zu", front->edges_ready, front->edges);
    if (front->gateways && front->silent && front->complete)
        add_text(verdict, STATUS_DEGRADED, "no daemon answers at %zu of ops.addresses", front->silent);
}

static void judge_refusals(const struct status *status, struct status_verdict *verdict) {
    if (status->refused_s > 0 && (double)status->time_ms / 1000 - status->refused_s < RECENT_S)
        add_text(verdict, STATUS_DEGRADED,
                 "commands are refused: a topic takes no record as large as their outcome (max.message.bytes)");
}

static int partitions_of_nobody(const struct status_group *group, const struct status_topic *topic) {
    int owned = 0;
    for (size_t m = 0; m < group->group.count; m++) {
        for (size_t i = 0; i < group->group.members[m].owned_count; i++)
            owned += group->group.members[m].owned[i].topic == topic->topic;
    }
    return topic->partitions > owned ? topic->partitions - owned : 0;
}

static int64_t handled(const struct status_topic *topic) {
    int64_t total = 0;
    for (int i = 0; i < topic->partitions; i++) {
        int64_t first = topic->first.committed[i], last = topic->last.committed[i];
        if (first >= 0 && last > first) total += last - first;
    }
    return total;
}

static void judge_lag(const struct status *status, const struct status_group *group, const struct status_topic *topic,
                      struct status_verdict *verdict) {
    int64_t lag = status_lag_total(topic);
    if (!group->commits || lag == STATUS_UNKNOWN || lag < STATUS_LATE_RECORDS) return;
    double rate = status->seconds > 0 ? (double)handled(topic) / status->seconds : 0;
    if (rate * LATE_S >= (double)lag) return;
    struct buffer reason = {.data = NULL};
    buffer_format(&reason, "%" PRId64 " records of %s wait for the %s", lag, topic->topic->name, group->what);
    if (rate * LONGEST_TOLD_S > (double)lag)
        buffer_format(&reason, ", about %.0f s of work", (double)lag / rate);
    else
        buffer_string(&reason, ", which handled none or few of them in the last second");
    add(verdict, STATUS_DEGRADED, reason);
}

static void judge_group(const struct status *status, const struct status_group *group, struct status_verdict *verdict) {
    if (!group->group.count) return;
    if (strcmp(group->group.state, "Stable") != 0) {
        struct buffer reason = {.data = NULL};
        buffer_format(&reason, "the %s share out their partitions again (group %s is %s)", group->what, group->name,
                      group->group.state);
        add(verdict, STATUS_DEGRADED, reason);
    } else {
        for (size_t t = 0; t < group->topic_count; t++) {
            int lost = partitions_of_nobody(group, &group->topics[t]);
            if (!lost) continue;
            struct buffer reason = {.data = NULL};
            buffer_format(&reason, "%d partition%s of %s: none of the %s has %s", lost, lost == 1 ? "" : "s",
                          group->topics[t].topic->name, group->what, lost == 1 ? "it" : "them");
            add(verdict, STATUS_DEGRADED, reason);
        }
    }
    for (size_t t = 0; t < group->topic_count; t++) judge_lag(status, group, &group->topics[t], verdict);
}

void status_judge(const struct status *status, struct status_verdict *verdict) {
    *verdict = (struct status_verdict){.level = STATUS_HEALTHY, .reasons = NULL};
    judge_members(status, verdict);
    if (status->front.known) {
        judge_front_down(&status->front, verdict);
        judge_front_degraded(&status->front, verdict);
    }
    judge_refusals(status, verdict);
    for (int i = 0; i < STATUS_GROUPS; i++) judge_group(status, &status->groups[i], verdict);
}

void status_verdict_clear(struct status_verdict *verdict) {
    for (size_t i = 0; i < verdict->reason_count; i++) buffer_free(&verdict->reasons[i]);
    free(verdict->reasons);
}

const char *status_level_name(enum status_level level) {
    switch (level) {
    case STATUS_HEALTHY: return "healthy";
    case STATUS_DEGRADED: return "degraded";
    default: return "down";
    }
}
