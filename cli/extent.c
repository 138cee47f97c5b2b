#include "cli/extent.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

enum { PATIENCE_MS = 10000 };

/* No record has a time beyond: the end of the year 9999. */
static const int64_t LATEST_MS = 253402300799999;

struct offset_search {
    struct kafka_consumer *consumer;
    struct kafka_position *at; /* scratch */
    int64_t *first;            /* of each partition: its first offset */
    int64_t *end;
    size_t count;
    int64_t deadline_us;
    struct error *error;
};

static int remaining_ms(const struct offset_search *search) {
    int64_t left = (search->deadline_us - clock_monotonic_us()) / 1000;
    return left > 1 ? (int)left : 1;
}

/* The time is later than what is sought. */
typedef bool beyond_fn(const struct offset_search *search);

/* Some partition's first record is before that time. */
static bool is_beyond_first(const struct offset_search *search) {
    for (size_t i = 0; i < search->count; i++)
        if (search->first[i] < search->end[i] && search->at[i].offset > search->first[i]) return true;
    return false;
}

/* No partition has a record of that time or later. */
static bool is_beyond_last(const struct offset_search *search) {
    for (size_t i = 0; i < search->count; i++)
        if (search->at[i].offset < search->end[i]) return false;
    return true;
}

/* The latest time that is not beyond. */
static int bisect(struct offset_search *search, beyond_fn *beyond, int64_t *found) {
    int64_t low = 0, high = LATEST_MS;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        int code = kafka_consumer_offsets_at(search->consumer, search->at, search->count, middle, remaining_ms(search),
                                             search->error);
        if (code) return code;
        if (beyond(search))
            high = middle - 1;
        else
            low = middle;
    }
    *found = low;
    return 0;
}

static int find(struct offset_search *search, struct extent *extent) {
    bool any = false;
    struct extent found = {.empty = false};
    for (size_t i = 0; i < search->count; i++) {
        int code = kafka_consumer_watermarks(search->consumer, search->at[i].topic, search->at[i].partition,
                                             &search->first[i], &search->end[i], remaining_ms(search), search->error);
        if (code) return code;
        any |= search->first[i] < search->end[i];
    }
    int code = any ? bisect(search, is_beyond_first, &found.first_ms) : 0;
    if (!code && any) code = bisect(search, is_beyond_last, &found.last_ms);
    if (code) return code;
    found.empty = !any;
    *extent = found;
    return 0;
}

static void ignore(void *context, const struct kafka_record *records, size_t count) {}

int extent_find(const struct reader_options *options, struct extent *extent, struct error *error) {
    uv_loop_t loop;
    struct offset_search search = {.error = error, .deadline_us = clock_monotonic_us() + PATIENCE_MS * INT64_C(1000)};
    if (uv_loop_init(&loop)) return error_set(error, -EMFILE, "no event loop can be made: too few descriptors");
    search.at = mem_zero((size_t)options->partitions, sizeof *search.at);
    search.first = mem_zero((size_t)options->partitions, sizeof *search.first);
    search.end = mem_zero((size_t)options->partitions, sizeof *search.end);
    for (int32_t p = 0; p < options->partitions; p++)
        if (options->partition == READER_ALL || options->partition == p)
            search.at[search.count++] = (struct kafka_position){.topic = options->topic, .partition = p};
    int code = kafka_consumer_new(
        &(struct kafka_consumer_options){.loop = &loop, .settings = options->settings, .on_records = ignore},
        &search.consumer, error);
    if (!code) code = find(&search, extent);
    kafka_consumer_free(search.consumer);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    free(search.at);
    free(search.first);
    free(search.end);
    return code;
}
