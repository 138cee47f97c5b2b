#include "ingest/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"

enum { RETRY_AFTER_S = 5, TRACED_MAX = 16 };
enum { SPARE_MS = 500 }; /* the owner's answer may take that much longer than it waits */

struct writer {
    struct service *service;
    struct kafka_producer *producer;
};

struct write {
    struct writer *writer;
    struct http_request *request;
    struct trace_scope traced; /* of the request */
    size_t traced_records;     /* that may still become part of it */
    write_done *done;
    void *context;
    size_t waiting; /* records without an acknowledgement, and one for the writer itself until write_end */
    int code;
    int32_t partition;
    int64_t offset;
};

static void settle(struct write *write) {
    if (--write->waiting) return;
    write->done(write->context, write->request, write->code, write->partition, write->offset);
    free(write);
}

static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct write *write = opaque;
    if (!write) return; /* a dead letter */
    if (code && write->code == 0) write->code = code;
    write->partition = partition;
    write->offset = offset;
    settle(write);
}

static void broker_seen(void *context, bool up, const char *reason) {
    struct writer *writer = context;
    (void)reason; /* the daemon's condition "kafka" says it */
    service_ready(writer->service, "producer", up);
}

int writer_new(struct service *service, int timeout_ms, struct writer **writer, struct error *error) {
    struct writer *made = MEM_NEW(&(struct writer){.service = service});
    int code = kafka_producer_new(
        &(struct kafka_producer_options){
            .loop = service_loop(service),
            .settings = service_kafka(service),
            .metrics = service_metrics(service),
            .timeout_ms = timeout_ms,
            .context = made,
            .on_delivered = delivered,
            .on_broker = broker_seen,
        },
        &made->producer, error);
    if (code)
        free(made);
    else
        *writer = made;
    return code;
}

void writer_free(struct writer *writer, int flush_ms) {
    if (!writer) return;
    kafka_producer_free(writer->producer, flush_ms);
    free(writer);
}

struct kafka_producer *writer_producer(struct writer *writer) {
    return writer->producer;
}

/* ---- traces: a request's scope is parked under it until it is answered ---- */

static struct tracer *tracer_of(const struct writer *writer) { return service_kafka(writer->service)->tracer; }

static bool trace(struct writer *writer, struct http_request *request, struct trace_scope *scope) {
    struct tracer *tracer = tracer_of(writer);
    if (!tracer || !request) return false;
    if (tracer_parked(tracer, request, 0, scope, NULL)) return true;
    int64_t began_ns = clock_wall_ns() - http_age_us(request) * 1000;
    if (!tracer_begin(tracer, http_header(request, TRACE_PARENT_HEADER), began_ns, scope)) return false;
    tracer_park_scope(tracer, scope, request, 0);
    return true;
}

void write_answered(struct tracer *tracer, const struct http_request *request, const char *name, unsigned status) {
    struct trace_scope scope;
    if (!tracer_unpark(tracer, request, 0, &scope, NULL)) return;
    struct trace_facts facts = {.kind = TRACE_SERVER, .status = (int)status, .failed = status >= 500};
    snprintf(facts.name, sizeof facts.name, "%s", name);
    tracer_finish(tracer, &scope, &facts);
}

/* ---- writes ---- */

struct write *write_new(struct writer *writer, struct http_request *request, write_done *done, void *context) {
    struct write *write =
        MEM_NEW(&(struct write){.writer = writer, .request = request, .done = done, .context = context, .waiting = 1});
    if (trace(writer, request, &write->traced)) write->traced_records = TRACED_MAX;
    return write;
}

void write_keyed(struct write *write, const struct topic *topic, const void *key, size_t size,
                 const struct buffer *record) {
    struct kafka_producer *producer = write->writer->producer;
    struct tracer *tracer = tracer_of(write->writer);
    struct trace_scope *before = tracer_enter(tracer, write->traced_records ? &write->traced : NULL);
    int code = kafka_producer_up(producer) ? kafka_producer_send(producer, topic, KAFKA_PARTITION_BY_KEY, key, size,
                                                                 record->data, record->size, write)
                                           : -EHOSTDOWN;
    tracer_enter(tracer, before);
    if (write->traced_records) write->traced_records--;
    if (code == 0)
        write->waiting++;
    else if (write->code == 0)
        write->code = code;
}

void write_user(struct write *write, const struct topic *topic, int64_t user, const struct buffer *record) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    write_keyed(write, topic, key, sizeof key, record);
}

void write_end(struct write *write) { settle(write); }

void write_problem(struct http_request *request, int code) {
    if (code == -EINVAL)
        http_problem(request, 500, "write_refused", "Kafka refused the record", 0);
    else
        http_problem(request, 503, "kafka_unavailable",
                     "Kafka does not take writes just now; nothing is lost by trying again", RETRY_AFTER_S);
}

void write_answer(void *context, struct http_request *request, int code, int32_t partition, int64_t offset) {
    struct buffer *body = context;
    if (code)
        write_problem(request, code);
    else if (body)
        http_reply_json(request, 200, body);
    else
        http_reply(request, 204, NULL, NULL, 0, NULL, 0);
    if (body) buffer_free(body);
    free(body);
}

/* ---- commands ---- */

/* A command from its record to its answer. */
struct sent_command {
    const struct command_sender *sender;
    struct command_write write;
};

static void sent_free(struct sent_command *sent) {
    free(sent->write.context);
    free(sent->write.question);
    free(sent);
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct sent_command *sent = context;
    const struct command_write *write = &sent->write;
    if (code == 0 && status == 413) {
        write_problem(write->request, -EINVAL);
        sent_free(sent);
        return;
    }
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    bool known = json_is_object(reply) || (code == 0 && status == 404);
    write->answer(write->context, write->request, known ? status : 0, reply, (struct json_bytes){text, size});
    json_decref(reply);
    sent_free(sent);
}

static void acknowledged(void *context, struct http_request *request, int code, int32_t partition, int64_t offset) {
    struct sent_command *sent = context;
    const struct command_sender *sender = sent->sender;
    if (code) {
        write_problem(request, code);
        sent_free(sent);
        return;
    }
    sender->written->value++;
    if (sent->write.offset) *sent->write.offset = offset;
    char *path = rpc_path_waiting(sent->write.question, offset, sender->wait_ms);
    peers_fetch(sender->owners, partition, path, (int)sender->wait_ms + SPARE_MS, answered, sent);
    free(path);
}

void command_send(const struct command_sender *sender, const struct command_write *write) {
    struct sent_command *sent = MEM_NEW(&(struct sent_command){.sender = sender, .write = *write});
    struct write *started = write_new(sender->writer, write->request, acknowledged, sent);
    if (write->subject)
        write_keyed(started, write->topic, write->subject, strlen(write->subject), write->record);
    else
        write_user(started, write->topic, write->user, write->record);
    write_end(started);
}
