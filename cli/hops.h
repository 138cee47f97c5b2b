/* The records of traces, for `starling trace`: gathered from topics in any order, told trace by trace. Pure; one thread. */
#pragma once

#include "base/buffer.h"
#include "topics/topic.h"
#include "trace/context.h"

/* A record that carries the context of a trace. */
struct hop {
    struct trace_context context; /* its span is the one that wrote the record */
    int64_t time_ms;              /* Kafka's timestamp */
    const struct topic *topic;
    int32_t partition;
    int64_t offset;
};

struct hops;
struct hops *hops_new(void);
void hops_free(struct hops *hops); /* NULL is fine */
void hops_add(struct hops *hops, const struct hop *hop);

/* Appends the `latest` traces that began last, the oldest of them first; for people, or a line of JSON each. Returns how many there
 * are. */
size_t hops_text(struct buffer *out, struct hops *hops, size_t latest);
size_t hops_json(struct buffer *out, struct hops *hops, size_t latest);
