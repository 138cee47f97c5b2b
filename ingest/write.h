/* Answers that wait for Kafka: a request's records are produced, and it is answered when all are acknowledged. Loop's thread. */
#pragma once

#include "json/json.h"
#include "json/scan.h"
#include "kafka/producer.h"
#include "rpc/ask.h"
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

/* ---- commands: a record, then a question to the owner of its key about what it led to ----
 *
 *     request --> record, keyed --acknowledged--> GET QUESTION, with offset= and wait_ms= --> answer
 */

/* The sender of a product's commands; the product's own. */
struct command_sender {
    struct writer *writer;
    struct peers *owners;
    int64_t wait_ms;        /* for the outcome */
    struct metric *written; /* counts commands that Kafka acknowledged */
};

struct command_write {
    struct http_request *request;
    const struct topic *topic;
    const char *subject; /* the record's key; NULL: the key is the user */
    int64_t user;
    const struct buffer *record; /* copied */
    char *question;              /* its path (rpc_path), freed after the answer */
    /* Answers the request, if Kafka took the record. status: 200 with the owner's reply, 404; or 0: the command is safe, and its
     * outcome is not known. text: the bytes of the reply. */
    void (*answer)(void *context, struct http_request *request, unsigned status, const json_t *reply,
                   struct json_bytes text);
    void *context;   /* freed after the answer */
    int64_t *offset; /* becomes the record's offset before the answer; NULL: not wanted */
};

/* The sender must live until the answer. */
void command_send(const struct command_sender *sender, const struct command_write *write);
