/* Answers that wait for Kafka: a request's records are produced, and it is answered when all are acknowledged. Loop's thread. */
#ifndef INGEST_WRITE_H
#define INGEST_WRITE_H

#include "kafka/producer.h"
#include "service/http.h"
#include "service/service.h"

/* The gateway's producer. It keeps the service's condition "producer". */
struct writer;

int writer_new(struct service *service, int timeout_ms, struct writer **writer, struct error *error);
/* Waits up to flush_ms for records under way; every write gets its callback. NULL is fine. */
void writer_free(struct writer *writer, int flush_ms);
struct kafka_producer *writer_producer(struct writer *writer); /* for dead letters; the writer's own */

/* All records of the write are acknowledged: code 0, with the last one's partition and offset; or the first failure. It answers the
 * request. */
typedef void write_done(void *context, struct http_request *request, int code, int32_t partition, int64_t offset);

/* request NULL: what is written answers nobody, and `done` gets NULL. A request's records are of its trace, if it has one: it came with a sampled traceparent, or it is the one in trace.every. */
struct write;
struct write *write_new(struct writer *writer, struct http_request *request, write_done *done, void *context);
void write_user(struct write *write, const struct topic *topic, int64_t user, const struct buffer *record);
void write_keyed(struct write *write, const struct topic *topic, const void *key, size_t size,
                 const struct buffer *record);
/* The request is answered: ends its trace's first span. name: the method and the route. */
void write_answered(struct tracer *tracer, const struct http_request *request, const char *name, unsigned status);
void write_end(
    struct write *write); /* no more records follow; done may be called inside, and the write is freed after it */

/* A write_done for answers that are made before the write. context: the body, which is freed; NULL: 204. */
void write_answer(void *context, struct http_request *request, int code, int32_t partition, int64_t offset);

/* The problem for a write that failed with that code: 503 with Retry-After, or 500. */
void write_problem(struct http_request *request, int code);

#endif
