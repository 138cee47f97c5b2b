#include "owner/follower.h"

#include <stdlib.h>

#include "base/mem.h"

struct follower {
    struct follower_options options;
    struct kafka_consumer *consumer;
    bool *reads;                        /* by partition */
    struct kafka_position *more, *less; /* to be read, or no longer, from follower_read on */
    size_t more_count, less_count;
};

static void take(void *context, const struct kafka_record *records, size_t count) {
    struct follower *follower = context;
    follower->options.on_records(follower->options.context, records, count);
}

static void drained(void *context) {
    struct follower *follower = context;
    follower->options.on_drained(follower->options.context);
}

static void offset_lost(void *context, const struct topic *topic, int32_t partition) {
    struct follower *follower = context;
    const struct follower_options *options = &follower->options;
    if (!follower->reads[partition]) return;
    for (size_t s = 0; s < options->topic_count; s++)
        if (options->topics[s] == topic) options->on_offset_lost(options->context, s, partition);
}

int follower_new(const struct follower_options *options, struct follower **out, struct error *error) {
    size_t places = (size_t)options->partitions * options->topic_count;
    struct follower *follower = MEM_NEW(&(struct follower){
        .options = *options,
        .reads = mem_zero((size_t)options->partitions, sizeof *follower->reads),
        .more = mem_zero(places, sizeof *follower->more),
        .less = mem_zero(places, sizeof *follower->less),
    });
    struct kafka_consumer_options consumer = {
        .loop = options->loop,
        .settings = options->kafka,
        .batch = options->batch,
        .context = follower,
        .on_records = take,
        .on_drained = drained,
        .on_offset_lost = offset_lost,
    };
    int code = kafka_consumer_new(&consumer, &follower->consumer, error);
    if (code) {
        follower_free(follower);
        return code;
    }
    *out = follower;
    return 0;
}

void follower_free(struct follower *follower) {
    if (!follower) return;
    kafka_consumer_free(follower->consumer);
    free(follower->reads);
    free(follower->more);
    free(follower->less);
    free(follower);
}

void follower_add(struct follower *follower, int32_t partition, const int64_t *from) {
    follower->reads[partition] = true;
    for (size_t s = 0; s < follower->options.topic_count; s++)
        follower->more[follower->more_count++] =
            (struct kafka_position){.topic = follower->options.topics[s], .partition = partition, .offset = from[s]};
}

void follower_remove(struct follower *follower, int32_t partition) {
    follower->reads[partition] = false;
    for (size_t s = 0; s < follower->options.topic_count; s++)
        follower->less[follower->less_count++] =
            (struct kafka_position){.topic = follower->options.topics[s], .partition = partition};
}

int follower_read(struct follower *follower, struct error *error) {
    int code = 0;
    if (follower->less_count)
        code = kafka_consumer_read_less(follower->consumer, follower->less, follower->less_count, error);
    if (!code && follower->more_count)
        code = kafka_consumer_read_more(follower->consumer, follower->more, follower->more_count, error);
    follower->less_count = follower->more_count = 0;
    return code;
}

int follower_seek(struct follower *follower, size_t state, int32_t partition, int64_t offset, struct error *error) {
    struct kafka_position position = {
        .topic = follower->options.topics[state], .partition = partition, .offset = offset};
    return kafka_consumer_seek(follower->consumer, &position, error);
}

int64_t follower_position(const struct follower *follower, size_t state, int32_t partition) {
    return kafka_consumer_position(follower->consumer, follower->options.topics[state], partition);
}

bool follower_reached(const struct follower *follower, size_t state, int32_t partition, int64_t end) {
    return end == 0 || (follower->reads[partition] && follower_position(follower, state, partition) >= end);
}

int64_t follower_lag(const struct follower *follower, size_t state, int32_t partition) {
    return kafka_consumer_lag(follower->consumer, follower->options.topics[state], partition);
}

int64_t follower_left(const struct follower *follower, int32_t partition, const int64_t *ends, size_t count) {
    int64_t left = 0;
    for (size_t s = 0; follower->reads[partition] && s < count; s++) {
        int64_t next = follower_position(follower, s, partition);
        if (ends[s] != INT64_MAX && next < ends[s]) left += ends[s] - (next < 0 ? 0 : next);
    }
    return left;
}

int follower_ask_ends(struct follower *follower, struct kafka_position *positions, size_t count, int timeout_ms,
                      struct error *error) {
    return kafka_consumer_ends(follower->consumer, positions, count, timeout_ms, error);
}
