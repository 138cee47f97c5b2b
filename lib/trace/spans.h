/* Finished spans, on their way from the event loop to the thread that exports them.
 *
 *     loop --- span_queue_put ---> [ span span span ... ]  a ring of fixed size  --- span_queue_take ---> exporter's thread
 *
 * The loop never waits for the exporter: a lock is held for as long as it takes to copy a span or to swap the ring for an empty one, and
 * a span that finds the ring full is dropped and counted.
 */
#ifndef TRACE_SPANS_H
#define TRACE_SPANS_H

#include "base/buffer.h"
#include "trace/context.h"

enum trace_kind { /* OpenTelemetry's numbers */
                  TRACE_INTERNAL = 1,
                  TRACE_SERVER = 2,
                  TRACE_PRODUCER = 4,
                  TRACE_CONSUMER = 5
};

enum { TRACE_NAME_MAX = 64 };

/* The facts of a span besides its ids and times. They never hold anybody's position or text. */
struct trace_facts {
    enum trace_kind kind;
    char name[TRACE_NAME_MAX]; /* the topic's name where there is an operation */
    const char *operation;     /* on a record of Kafka: "publish", "process"; NULL: none. A literal */
    int32_t partition;
    int64_t offset; /* -1: not known */
    size_t bytes;   /* of the record's value */
    int status;     /* of HTTP; 0: none */
    bool failed;
};

struct trace_span {
    struct trace_context context;
    uint8_t parent[TRACE_SPAN_BYTES]; /* zeros: the root */
    int64_t start_ns, end_ns;         /* of the wall clock */
    struct trace_facts facts;
};

struct span_queue;

struct span_counts {
    uint64_t put, dropped; /* since the beginning; a span that was dropped counts in both */
};

/* Any thread may call these. */
struct span_queue *span_queue_new(size_t capacity); /* spans */
void span_queue_free(struct span_queue *queue);     /* NULL is fine; after its threads are done with it */
void span_queue_put(struct span_queue *queue, const struct trace_span *span);
/* Counts spans as dropped that were taken and could not be exported. */
void span_queue_lose(struct span_queue *queue, size_t count);
struct span_counts span_queue_counts(struct span_queue *queue);

/* Waits until spans have gathered for wait_ms, the ring is half full, or the queue is closed. Returns how many there are; they stay
 * valid until the next call. One thread calls it. */
size_t span_queue_take(struct span_queue *queue, int wait_ms, const struct trace_span **spans);
/* Waits for so long, or until the queue is closed. True: it is. */
bool span_queue_pause(struct span_queue *queue, int wait_ms);
void span_queue_close(struct span_queue *queue); /* nobody waits any more */

/* Where spans come from. */
struct trace_resource {
    const char *service, *instance, *version;
};

/* Appends the spans as an ExportTraceServiceRequest of OTLP, in JSON. Pure. */
void trace_spans_json(struct buffer *out, const struct trace_resource *resource, const struct trace_span *spans,
                      size_t count);

#endif
