#include "cli/hops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/instant.h"
#include "base/mem.h"

struct hops {
    struct hop *items;
    size_t count, room;
};

/* The records of one trace, in order of their times. */
struct journey {
    const struct hop *first;
    size_t count;
};

struct hops *hops_new(void) {
    return mem_zero(1, sizeof(struct hops));
}

void hops_free(struct hops *hops) {
    if (!hops) return;
    free(hops->items);
    free(hops);
}

void hops_add(struct hops *hops, const struct hop *hop) {
    MEM_ROOM(hops->items, hops->count, hops->room);
    hops->items[hops->count++] = *hop;
}

static int compare(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int by_trace_and_time(const void *left, const void *right) {
    const struct hop *a = left, *b = right;
    int order = memcmp(a->context.trace, b->context.trace, sizeof a->context.trace);
    if (!order) order = compare(a->time_ms, b->time_ms);
    // Within a millisecond: what goes to the edges is the end of a way.
    if (!order) order = compare(a->topic->space == TOPIC_SPACE_ROUTES, b->topic->space == TOPIC_SPACE_ROUTES);
    if (!order) order = strcmp(a->topic->name, b->topic->name);
    if (!order) order = compare(a->partition, b->partition);
    return order ? order : compare(a->offset, b->offset);
}

static int by_beginning(const void *left, const void *right) {
    const struct journey *a = left, *b = right;
    int order = compare(a->first->time_ms, b->first->time_ms);
    return order ? order : memcmp(a->first->context.trace, b->first->context.trace, sizeof a->first->context.trace);
}

static bool same_trace(const struct hop *a, const struct hop *b) {
    return !memcmp(a->context.trace, b->context.trace, sizeof a->context.trace);
}

/* All traces, those that began last at the end. Caller frees. */
static struct journey *journeys_of(struct hops *hops, size_t *count) {
    struct journey *journeys = mem_alloc((hops->count + 1) * sizeof *journeys);
    *count = 0;
    if (hops->count) qsort(hops->items, hops->count, sizeof *hops->items, by_trace_and_time);
    for (size_t i = 0; i < hops->count; i++) {
        if (i && same_trace(&hops->items[i - 1], &hops->items[i]))
            journeys[*count - 1].count++;
        else
            journeys[(*count)++] = (struct journey){.first = &hops->items[i], .count = 1};
    }
    if (*count) qsort(journeys, *count, sizeof *journeys, by_beginning);
    return journeys;
}

static int64_t length_ms(const struct journey *journey) {
    return journey->first[journey->count - 1].time_ms - journey->first->time_ms;
}

/* ---- for people ---- */

static void put_text(struct buffer *out, const struct journey *journey) {
    char trace[TRACE_ID_TEXT], span[TRACE_SPAN_TEXT], when[INSTANT_TEXT_SIZE];
    trace_hex(journey->first->context.trace, TRACE_ID_BYTES, trace);
    buffer_format(out, "trace %s\n%s, %zu records within %" PRId64 " ms\n\n", trace,
                  instant_format(journey->first->time_ms, when), journey->count, length_ms(journey));
    buffer_format(out, "%8s %8s  %-20s %9s %12s  %s\n", "MS", "STEP", "TOPIC", "PARTITION", "OFFSET", "SPAN");
    int64_t before_ms = journey->first->time_ms;
    for (size_t i = 0; i < journey->count; i++) {
        const struct hop *hop = &journey->first[i];
        trace_hex(hop->context.span, TRACE_SPAN_BYTES, span);
        buffer_format(out, "%8" PRId64 " %+8" PRId64 "  %-20s %9" PRId32 " %12" PRId64 "  %s\n",
                      hop->time_ms - journey->first->time_ms, hop->time_ms - before_ms, hop->topic->name,
                      hop->partition, hop->offset, span);
        before_ms = hop->time_ms;
    }
}

size_t hops_text(struct buffer *out, struct hops *hops, size_t latest) {
    size_t count;
    struct journey *journeys = journeys_of(hops, &count);
    size_t from = count > latest ? count - latest : 0;
    for (size_t i = from; i < count; i++) {
        if (i > from) buffer_byte(out, '\n');
        put_text(out, &journeys[i]);
    }
    free(journeys);
    return count - from;
}

/* ---- for programs ---- */

static void put_json(struct buffer *out, const struct journey *journey) {
    char trace[TRACE_ID_TEXT], span[TRACE_SPAN_TEXT];
    trace_hex(journey->first->context.trace, TRACE_ID_BYTES, trace);
    buffer_format(out, "{\"trace\":\"%s\",\"timestamp\":%" PRId64 ",\"ms\":%" PRId64 ",\"records\":[", trace,
                  journey->first->time_ms, length_ms(journey));
    for (size_t i = 0; i < journey->count; i++) {
        const struct hop *hop = &journey->first[i];
        trace_hex(hop->context.span, TRACE_SPAN_BYTES, span);
        buffer_format(out,
                      "%s{\"topic\":\"%s\",\"partition\":%" PRId32 ",\"offset\":%" PRId64 ",\"timestamp\":%" PRId64
                      ",\"ms\":%" PRId64 ",\"span\":\"%s\"}",
                      i ? "," : "", hop->topic->name, hop->partition, hop->offset, hop->time_ms,
                      hop->time_ms - journey->first->time_ms, span);
    }
    buffer_string(out, "]}\n");
}

size_t hops_json(struct buffer *out, struct hops *hops, size_t latest) {
    size_t count;
    struct journey *journeys = journeys_of(hops, &count);
    size_t from = count > latest ? count - latest : 0;
    for (size_t i = from; i < count; i++) put_json(out, &journeys[i]);
    free(journeys);
    return count - from;
}
