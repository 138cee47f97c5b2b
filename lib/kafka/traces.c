#include "kafka/traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { SENT_MAX = 256 }; /* traced messages of a producer whose fate is not known yet */

/* Spans of messages under way, in no order. */
struct traces_sent {
    size_t count;
    struct trace_scope scopes[SENT_MAX];
};

/* ---- headers ---- */

static bool header_of(const rd_kafka_headers_t *headers, const char *name, const char **text) {
    const void *value;
    size_t size;
    if (rd_kafka_header_get_last(headers, name, &value, &size) || !value) return false;
    *text = value; // it ends with a 0
    return true;
}

/* The context that a message carries. False: none, or one that is not sampled. */
static bool context_of(const rd_kafka_message_t *message, struct trace_context *context, struct trace_part *part) {
    // librdkafka's signature is of before const: reading them is what it does.
    rd_kafka_message_t *read = (rd_kafka_message_t *)(uintptr_t)message;
    rd_kafka_headers_t *headers;
    const char *text;
    if (!message || rd_kafka_message_headers(read, &headers)) return false;
    if (!header_of(headers, TRACE_PARENT_HEADER, &text) || trace_context_parse(text, context)) return false;
    *part = header_of(headers, TRACE_STATE_HEADER, &text) ? trace_part_parse(text) : (struct trace_part){.count = 0};
    return context->sampled;
}

static void add(rd_kafka_headers_t *headers, const char *name, const char *text) {
    rd_kafka_header_add(headers, name, -1, text, (ssize_t)strlen(text));
}

static struct trace_facts facts_of(enum trace_kind kind, const char *topic, const char *operation, int32_t partition,
                                   int64_t offset, size_t bytes) {
    struct trace_facts facts = {
        .kind = kind, .operation = operation, .partition = partition, .offset = offset, .bytes = bytes};
    snprintf(facts.name, sizeof facts.name, "%s", topic);
    return facts;
}

/* ---- consumers ---- */

static void hand_over_traced(struct kafka_consumer *consumer, const struct kafka_record *record,
                             const struct trace_context *parent, struct trace_part within) {
    const struct kafka_consumer_options *options = &consumer->options;
    struct tracer *tracer = options->settings->tracer;
    const rd_kafka_message_t *message = record->message;
    struct trace_scope scope = tracer_child(tracer, parent);
    scope.within = within;
    struct trace_scope *before = tracer_enter(tracer, &scope);
    options->on_records(options->context, record, 1);
    tracer_enter(tracer, before);
    if (!scope.used) return; // an observer's, or a stand-by's
    struct trace_facts facts = facts_of(TRACE_CONSUMER, rd_kafka_topic_name(message->rkt), "process", record->partition,
                                        record->offset, record->value_size);
    tracer_finish(tracer, &scope, &facts);
}

void kafka_traces_hand_over(struct kafka_consumer *consumer, size_t count) {
    const struct kafka_consumer_options *options = &consumer->options;
    const struct kafka_record *records = consumer->records;
    size_t from = 0;
    for (size_t i = 0; options->settings->tracer && i < count; i++) {
        struct trace_context parent;
        struct trace_part within;
        if (!context_of(records[i].message, &parent, &within)) continue;
        if (i > from) options->on_records(options->context, records + from, i - from);
        hand_over_traced(consumer, &records[i], &parent, within);
        from = i + 1;
    }
    if (count > from) options->on_records(options->context, records + from, count - from);
}

/* ---- producers ---- */

static void finish(struct kafka_producer *producer, const struct trace_scope *scope, const char *topic,
                   int32_t partition, int64_t offset, size_t bytes, bool failed) {
    struct trace_facts facts = facts_of(TRACE_PRODUCER, topic, "publish", partition, offset, bytes);
    facts.failed = failed;
    tracer_finish(producer->options.settings->tracer, scope, &facts);
}

rd_kafka_resp_err_t kafka_traces_send(struct kafka_producer *producer, struct trace_scope *scope,
                                      rd_kafka_topic_t *handle, int32_t partition, const void *key, size_t key_size,
                                      const void *value, size_t value_size, void *opaque) {
    struct trace_scope sent = tracer_child(producer->options.settings->tracer, &scope->context);
    char parent[TRACE_PARENT_TEXT], state[TRACE_STATE_TEXT];
    rd_kafka_headers_t *headers = rd_kafka_headers_new(2);
    scope->used = true;
    trace_context_write(&sent.context, parent);
    add(headers, TRACE_PARENT_HEADER, parent);
    if (scope->sends.count) {
        trace_part_write(scope->sends, state);
        add(headers, TRACE_STATE_HEADER, state);
    }
    // producev takes pointers to const data as to plain ones; it copies.
    rd_kafka_resp_err_t err =
        rd_kafka_producev(producer->client, RD_KAFKA_V_RKT(handle), RD_KAFKA_V_PARTITION(partition),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY((void *)(uintptr_t)key, key_size),
                          RD_KAFKA_V_VALUE((void *)(uintptr_t)value, value_size), RD_KAFKA_V_HEADERS(headers),
                          RD_KAFKA_V_OPAQUE(opaque), RD_KAFKA_V_END);
    if (err) {
        rd_kafka_headers_destroy(headers); // taken only on success
        return err;
    }
    if (!producer->traced) producer->traced = mem_zero(1, sizeof *producer->traced);
    if (producer->traced->count < SENT_MAX)
        producer->traced->scopes[producer->traced->count++] = sent;
    else // without the time until it is acknowledged
        finish(producer, &sent, rd_kafka_topic_name(handle), partition, -1, value_size, false);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void kafka_traces_reported(struct kafka_producer *producer, const rd_kafka_message_t *message) {
    struct traces_sent *sent = producer->traced;
    struct trace_context context;
    struct trace_part part;
    if (!sent || !sent->count || !context_of(message, &context, &part)) return;
    for (size_t i = 0; i < sent->count; i++) {
        if (!trace_context_same(&sent->scopes[i].context, &context)) continue;
        finish(producer, &sent->scopes[i], rd_kafka_topic_name(message->rkt), message->partition,
               message->err ? -1 : message->offset, message->len, message->err != 0);
        sent->scopes[i] = sent->scopes[--sent->count];
        return;
    }
}

void kafka_traces_free(struct traces_sent *sent) { free(sent); }
