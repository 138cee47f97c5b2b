#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/status_verdict.h"
#include "kafka/consumer.h"

static int64_t sum(const int64_t *values, int count) {
    int64_t total = 0;
    for (int i = 0; i < count; i++) total += values[i] > 0 ? values[i] : 0;
    return total;
}

static double rate(const struct status *status, const int64_t *first, const int64_t *last, int count) {
    return status->seconds > 0 ? (double)(sum(last, count) - sum(first, count)) / status->seconds : 0;
}

static double in_rate(const struct status *status, const struct status_topic *topic) {
    return rate(status, topic->first.end, topic->last.end, topic->partitions);
}

static double out_rate(const struct status *status, const struct status_topic *topic) {
    return rate(status, topic->first.committed, topic->last.committed, topic->partitions);
}

static int compare(const void *left, const void *right) {
    const int *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

void status_ranges(struct buffer *out, const int *numbers, size_t count) {
    if (!count) return;
    int *sorted = mem_alloc(count * sizeof *sorted);
    memcpy(sorted, numbers, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    for (size_t i = 0; i < count;) {
        size_t last = i;
        while (last + 1 < count && sorted[last + 1] == sorted[last] + 1) last++;
        buffer_format(out, last > i ? "%s%d-%d" : "%s%d", i ? "," : "", sorted[i], sorted[last]);
        i = last + 1;
    }
    free(sorted);
}

/* The member's partitions of one topic; the caller frees. */
static int *owned_of(const struct kafka_member *member, const struct topic *topic, size_t *count) {
    int *numbers = mem_alloc((member->owned_count + 1) * sizeof *numbers);
    *count = 0;
    for (size_t i = 0; i < member->owned_count; i++)
        if (member->owned[i].topic == topic) numbers[(*count)++] = member->owned[i].partition;
    qsort(numbers, *count, sizeof *numbers, compare);
    return numbers;
}

static const char *owner_of(const struct kafka_group *group, const struct topic *topic, int partition) {
    for (size_t m = 0; m < group->count; m++) {
        for (size_t i = 0; i < group->members[m].owned_count; i++) {
            const struct kafka_position *owned = &group->members[m].owned[i];
            if (owned->topic == topic && owned->partition == partition) return group->members[m].client_id;
        }
    }
    return NULL;
}

/* ---- for people ---- */

static void text_of_member(struct buffer *out, const struct status_group *group, const struct kafka_member *member) {
    buffer_format(out, "  %-40s", member->client_id);
    if (member->instance_id && *member->instance_id) buffer_format(out, " (%s)", member->instance_id);
    for (size_t t = 0; t < group->topic_count; t++) {
        size_t count;
        int *numbers = owned_of(member, group->topics[t].topic, &count);
        buffer_format(out, "%s %s ", t ? ";" : "", group->topics[t].topic->name);
        status_ranges(out, numbers, count);
        if (!count) buffer_string(out, "none");
        free(numbers);
    }
    buffer_byte(out, '\n');
}

static void text_of_lag(struct buffer *out, const struct status *status, const struct status_group *group,
                        const struct status_topic *topic, bool all_partitions) {
    int64_t total = status_lag_total(topic);
    buffer_format(out, "  %-16s ", topic->topic->name);
    if (total == STATUS_UNKNOWN)
        buffer_string(out, "lag unknown: not everything was ever committed");
    else
        buffer_format(out, "lag %" PRId64, total);
    buffer_format(out, ", %.1f/s handled\n", out_rate(status, topic));
    for (int i = 0; i < topic->partitions; i++) {
        int64_t lag = status_lag(topic, i);
        const char *owner = owner_of(&group->group, topic->topic, i);
        bool matters = lag == STATUS_UNKNOWN || lag >= STATUS_LATE_RECORDS || (lag && !owner);
        if (!matters && !all_partitions) continue;
        buffer_format(out, "    partition %-4d lag ", i);
        if (lag == STATUS_UNKNOWN)
            buffer_format(out, "%-10s", "?");
        else
            buffer_format(out, "%-10" PRId64, lag);
        buffer_format(out, " end %-12" PRId64 " %s\n", topic->last.end[i], owner ? owner : "(nobody's)");
    }
}

void status_text(struct buffer *out, const struct status *status, const struct status_verdict *verdict,
                 bool all_partitions) {
    buffer_format(out, "%s\n", status_level_name(verdict->level));
    for (size_t i = 0; i < verdict->reason_count; i++)
        buffer_format(out, "  %s\n", buffer_cstring(&verdict->reasons[i]));
    buffer_byte(out, '\n');
    buffer_format(out, "%-32s %10s %14s %10s\n", "topic", "partitions", "written", "in/s");
    for (size_t i = 0; i < status->topic_count; i++) {
        const struct status_topic *topic = &status->topics[i];
        char *name = topic_full_name(status->settings, topic->topic, false);
        buffer_format(out, "%-32s %10d %14" PRId64 " %10.1f\n", name, topic->partitions,
                      sum(topic->last.end, topic->partitions), in_rate(status, topic));
        free(name);
    }
    status_front_text(out, &status->front);
    for (int i = 0; i < STATUS_GROUPS; i++) {
        const struct status_group *group = &status->groups[i];
        buffer_format(out, "\n%s: group %s, %s, %zu member%s\n", group->what, group->name, group->group.state,
                      group->group.count, group->group.count == 1 ? "" : "s");
        for (size_t m = 0; m < group->group.count; m++) text_of_member(out, group, &group->group.members[m]);
        for (size_t t = 0; group->commits && t < group->topic_count; t++)
            text_of_lag(out, status, group, &group->topics[t], all_partitions);
        if (!group->commits) buffer_string(out, "  read from the end on, nothing is committed\n");
    }
}

/* ---- for programs ---- */

static void put_text(struct buffer *out, const char *text) {
    if (text)
        text_quote(out, text, strlen(text));
    else
        buffer_string(out, "null");
}

static void put_offset(struct buffer *out, int64_t offset) {
    if (offset >= 0)
        text_int(out, offset);
    else
        buffer_string(out, "null");
}

static void put_name(struct buffer *out, const struct status *status, const struct topic *topic) {
    char *name = topic_full_name(status->settings, topic, false);
    put_text(out, name);
    free(name);
}

static void json_of_member(struct buffer *out, const struct status *status, const struct status_group *group,
                           const struct kafka_member *member) {
    buffer_string(out, "{\"client_id\":");
    put_text(out, member->client_id);
    buffer_string(out, ",\"host\":");
    put_text(out, member->host);
    buffer_string(out, ",\"instance_id\":");
    put_text(out, member->instance_id);
    buffer_string(out, ",\"partitions\":{");
    for (size_t t = 0; t < group->topic_count; t++) {
        size_t count;
        int *numbers = owned_of(member, group->topics[t].topic, &count);
        if (t) buffer_byte(out, ',');
        put_name(out, status, group->topics[t].topic);
        buffer_string(out, ":[");
        for (size_t i = 0; i < count; i++) buffer_format(out, "%s%d", i ? "," : "", numbers[i]);
        buffer_byte(out, ']');
        free(numbers);
    }
    buffer_string(out, "}}");
}

static void json_of_group_topic(struct buffer *out, const struct status *status, const struct status_group *group,
                                const struct status_topic *topic) {
    buffer_string(out, "{\"topic\":");
    put_name(out, status, topic->topic);
    buffer_string(out, ",\"lag\":");
    put_offset(out, group->commits ? status_lag_total(topic) : STATUS_UNKNOWN);
    buffer_string(out, ",\"handled_per_s\":");
    if (group->commits)
        buffer_format(out, "%.1f", out_rate(status, topic));
    else
        buffer_string(out, "null");
    buffer_string(out, ",\"partitions\":[");
    for (int i = 0; i < topic->partitions; i++) {
        buffer_format(out, "%s{\"partition\":%d,\"owner\":", i ? "," : "", i);
        put_text(out, owner_of(&group->group, topic->topic, i));
        buffer_string(out, ",\"committed\":");
        put_offset(out, topic->last.committed[i]);
        buffer_string(out, ",\"end\":");
        put_offset(out, topic->last.end[i]);
        buffer_string(out, ",\"lag\":");
        put_offset(out, group->commits ? status_lag(topic, i) : STATUS_UNKNOWN);
        buffer_byte(out, '}');
    }
    buffer_string(out, "]}");
}

static void json_of_group(struct buffer *out, const struct status *status, const struct status_group *group) {
    buffer_string(out, "{\"group\":");
    put_text(out, group->name);
    buffer_string(out, ",\"state\":");
    put_text(out, group->group.state);
    buffer_string(out, ",\"members\":[");
    for (size_t m = 0; m < group->group.count; m++) {
        if (m) buffer_byte(out, ',');
        json_of_member(out, status, group, &group->group.members[m]);
    }
    buffer_string(out, "],\"topics\":[");
    for (size_t t = 0; t < group->topic_count; t++) {
        if (t) buffer_byte(out, ',');
        json_of_group_topic(out, status, group, &group->topics[t]);
    }
    buffer_string(out, "]}");
}

void status_json(struct buffer *out, const struct status *status, const struct status_verdict *verdict) {
    buffer_format(out, "{\"time\":%" PRId64 ",\"verdict\":\"%s\",\"reasons\":[", status->time_ms,
                  status_level_name(verdict->level));
    for (size_t i = 0; i < verdict->reason_count; i++) {
        if (i) buffer_byte(out, ',');
        put_text(out, buffer_cstring(&verdict->reasons[i]));
    }
    buffer_string(out, "],");
    status_front_json(out, &status->front);
    buffer_string(out, ",\"topics\":[");
    for (size_t i = 0; i < status->topic_count; i++) {
        const struct status_topic *topic = &status->topics[i];
        buffer_string(out, i ? ",{\"topic\":" : "{\"topic\":");
        put_name(out, status, topic->topic);
        buffer_format(out, ",\"partitions\":%d,\"written\":%" PRId64 ",\"in_per_s\":%.1f}", topic->partitions,
                      sum(topic->last.end, topic->partitions), in_rate(status, topic));
    }
    buffer_string(out, "],\"groups\":[");
    for (int i = 0; i < STATUS_GROUPS; i++) {
        if (i) buffer_byte(out, ',');
        json_of_group(out, status, &status->groups[i]);
    }
    buffer_string(out, "]}");
}
