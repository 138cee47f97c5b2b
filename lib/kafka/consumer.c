#include "kafka/consumer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kafka/traces.h"

enum { BATCH_DEFAULT = 1000 };

static void assigned(struct kafka_consumer *consumer, const rd_kafka_topic_partition_list_t *list) {
    struct kafka_position *owned = mem_zero((size_t)list->cnt + 1, sizeof *owned);
    size_t count = 0;
    for (int i = 0; i < list->cnt; i++) {
        const struct topic *topic = kafka_topic_of(consumer->options.settings, list->elems[i].topic);
        if (!topic) continue;
        owned[count++] =
            (struct kafka_position){.topic = topic, .partition = list->elems[i].partition, .offset = KAFKA_OFFSET_NONE};
    }
    kafka_consumer_keep_membership(consumer);
    consumer->assigned = true;
    consumer->answered = false;
    if (consumer->options.on_assigned) consumer->options.on_assigned(consumer->options.context, owned, count);
    // librdkafka waits for an answer before it goes on as a member.
    if (!consumer->answered) kafka_consumer_apply(consumer, NULL);
    free(owned);
}

static void revoked(struct kafka_consumer *consumer, bool lost) {
    consumer->assigned = false;
    if (consumer->options.on_revoked) consumer->options.on_revoked(consumer->options.context, lost);
    kafka_consumer_drop_membership(consumer);
    positions_stop(&consumer->positions);
    kafka_consumer_assign(consumer, NULL);
}

static void rebalance(rd_kafka_t *client, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list,
                      void *opaque) {
    struct kafka_consumer *consumer = ((struct kafka_opaque *)opaque)->owner;
    consumer->changed = true;
    if (consumer->closing) {
        // Without kafka_consumer_assign's questions: with nothing read, the membership ends at once and answers none.
        rd_kafka_assign(client, NULL);
    } else if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        assigned(consumer, list);
    } else {
        revoked(consumer, rd_kafka_assignment_lost(client));
    }
}

static void client_error(rd_kafka_t *client, int err, const char *reason, void *opaque) {
    struct kafka_consumer *consumer = ((struct kafka_opaque *)opaque)->owner;
    if (!consumer->closing) kafka_health_error(consumer->health, client, (rd_kafka_resp_err_t)err, reason);
}

static void commit_answered(struct kafka_consumer *consumer, bool taken) {
    if (!consumer->commit_count) return;
    if (taken) consumer->heard_us = consumer->commits[consumer->commit_first].sent_us;
    if (--consumer->commits[consumer->commit_first].count) return;
    consumer->commit_first = (consumer->commit_first + 1) % KAFKA_COMMITS_MAX;
    consumer->commit_count--;
}

static void commit_sent(struct kafka_consumer *consumer) {
    bool full = consumer->commit_count == KAFKA_COMMITS_MAX;
    if (!full) consumer->commit_count++;
    size_t last = (consumer->commit_first + consumer->commit_count - 1) % KAFKA_COMMITS_MAX;
    if (!full) consumer->commits[last].sent_us = clock_monotonic_us();
    consumer->commits[last].count = full ? consumer->commits[last].count + 1 : 1;
}

static void committed(rd_kafka_t *client, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list,
                      void *opaque) {
    struct kafka_consumer *consumer = ((struct kafka_opaque *)opaque)->owner;
    for (int i = 0; list && !err && i < list->cnt; i++) err = list->elems[i].err;
    commit_answered(consumer, !err);
    if (consumer->options.group)
        kafka_refused(consumer->options.settings, err, "Read", "group and topics of", consumer->options.group);
    if (!err || err == RD_KAFKA_RESP_ERR__NO_OFFSET) return;
    consumer->commit_failures++;
    int code = kafka_code(err);
    // Anything else belongs to a rebalance: whoever owns the partition next commits, or reads again.
    if (!consumer->closing && (code == -EHOSTDOWN || code == -ETIMEDOUT))
        kafka_health_down(consumer->health, rd_kafka_err2str(err));
}

/* librdkafka gives up without taking the partitions back. */
static void give_up(struct kafka_consumer *consumer) {
    if (consumer->options.group && consumer->assigned) revoked(consumer, true);
    if (consumer->given_up) return;
    consumer->given_up = true;
    if (consumer->options.on_fatal)
        consumer->options.on_fatal(consumer->options.context, kafka_health_reason(consumer->health));
}

static void poll_queue(void *context) {
    struct kafka_consumer *consumer = context;
    bool more = kafka_consumer_take_batch(consumer);
    kafka_health_poll(consumer->health);
    if (kafka_health_fatal(consumer->health)) give_up(consumer);
    kafka_wake_again(consumer->wake, more && (!consumer->held || consumer->hold_paused));
    if (more || !consumer->moved) return;
    consumer->moved = false;
    if (consumer->options.on_drained) consumer->options.on_drained(consumer->options.context);
}

static void woken(void *context) {
    struct kafka_consumer *consumer = context;
    if (!consumer->held || consumer->hold_paused) {
        poll_queue(consumer);
    } else {
        kafka_wake_again(consumer->wake, false);
        kafka_health_poll(consumer->health);
    }
}

/* Once a second: a consumer that is held must be polled all the same, or it hears of no rebalance and is thrown out of
 * the group. Pausing makes what librdkafka has fetched outdated, so that only such news comes out of the queue. */
static void ticked(void *context) {
    struct kafka_consumer *consumer = context;
    if (consumer->held && !consumer->hold_paused) {
        consumer->hold_paused = true;
        kafka_consumer_pause_all(consumer, true);
    }
    poll_queue(consumer);
}

static int make_client(struct kafka_consumer *consumer, struct error *error) {
    const struct kafka_consumer_options *options = &consumer->options;
    char gather[16], messages[16], kbytes[16];
    snprintf(gather, sizeof gather, "%d", options->gather_ms);
    snprintf(messages, sizeof messages, "%d", KAFKA_QUEUE_MESSAGES);
    snprintf(kbytes, sizeof kbytes, "%d", KAFKA_QUEUE_KBYTES);
    const struct kafka_property ours[] = {
        {"auto.offset.reset", "error"},
        {"isolation.level", "read_committed"},
        {"partition.assignment.strategy", "range"},
        {"session.timeout.ms", "6000"},
        // By its answers members hear of a rebalance; nobody reads until the last one has.
        {"heartbeat.interval.ms", "500"},
        // Records come at once whatever this says; it bounds how long a change of what is read waits for the request that
        // is under way, and how soon an end behind a marker of a transaction is known to be one. Eleven idle daemons took
        // 0.31 of a core from their broker at 50 ms, and 0.12 at 250 and 500 ms.
        {"fetch.wait.max.ms", options->gather_ms ? gather : "250"},
        {"fetch.min.bytes", options->gather_ms ? "65536" : "1"},
        // librdkafka's defaults: more would be memory, 370 bytes beside each message.
        {"queued.min.messages", messages},
        {"queued.max.messages.kbytes", kbytes},
        {NULL, NULL},
    };
    const struct kafka_property fixed[] = {
        // Reading without a group needs the name of one all the same; nothing is ever committed under it.
        {"group.id", options->group ? options->group : KAFKA_READERS_GROUP},
        {"group.instance.id", options->instance_id && options->instance_id[0] ? options->instance_id : NULL},
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"},
        {"enable.partition.eof", "true"}, // how positions get past transaction markers at the end
        {NULL, NULL},
    };
    rd_kafka_conf_t *conf = NULL;
    int code = kafka_conf_new(options->settings, ours, fixed, &consumer->opaque, &conf, error);
    if (code) return code;
    rd_kafka_conf_set_rebalance_cb(conf, rebalance);
    rd_kafka_conf_set_error_cb(conf, client_error);
    rd_kafka_conf_set_offset_commit_cb(conf, committed);
    code = kafka_client_new(RD_KAFKA_CONSUMER, conf, &consumer->client, error);
    if (code) return code;
    rd_kafka_poll_set_consumer(consumer->client);
    char session[16];
    size_t size = sizeof session;
    if (rd_kafka_conf_get(rd_kafka_conf(consumer->client), "session.timeout.ms", session, &size) == RD_KAFKA_CONF_OK)
        consumer->session_us = strtoll(session, NULL, 10) * 1000;
    return 0;
}

static int subscribe(struct kafka_consumer *consumer, const struct topic *const *topics, size_t count,
                     struct error *error) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    const struct topic *refused = NULL;
    for (size_t i = 0; i < count; i++) {
        char *name = topic_full_name(consumer->options.settings, topics[i], false);
        rd_kafka_topic_partition_list_add(list, name, RD_KAFKA_PARTITION_UA);
        free(name);
        if (!kafka_consumer_topic(consumer, topics[i])) refused = topics[i];
    }
    rd_kafka_resp_err_t err = refused ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_subscribe(consumer->client, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (refused) return error_set(error, -EINVAL, "%s cannot be read", refused->name);
    return err ? kafka_failed(error, err, "subscribing") : 0;
}

int kafka_consumer_hand_over(struct kafka_consumer *consumer, const struct topic *other, struct error *error) {
    int code = consumer->assigned ? kafka_consumer_read(consumer, NULL, 0, error) : 0;
    return code ? code : subscribe(consumer, &other, 1, error);
}

int kafka_consumer_new(const struct kafka_consumer_options *options, struct kafka_consumer **out, struct error *error) {
    struct kafka_consumer *consumer = mem_alloc(sizeof *consumer);
    *consumer = (struct kafka_consumer){
        .options = *options,
        .opaque = {.log = options->settings->log, .owner = consumer},
        .handles = {.count = 0},
        .positions = {.count = 0},
        .assigned = !options->group,
        .plain_opaque = {.log = NULL, .owner = NULL},
    };
    uv_mutex_init(&consumer->lock);
    if (!consumer->options.batch) consumer->options.batch = BATCH_DEFAULT;
    consumer->batch = consumer->options.batch;
    consumer->messages = mem_zero(consumer->options.batch, sizeof(rd_kafka_message_t *));
    consumer->records = mem_zero(consumer->options.batch, sizeof *consumer->records);

    int code = make_client(consumer, error);
    if (code) goto finish;
    consumer->queue = rd_kafka_queue_get_consumer(consumer->client);
    consumer->wake = kafka_wake_new(options->loop, woken, ticked, consumer);
    if (!consumer->wake) {
        code = error_set(error, -EMFILE, "no descriptor left for a Kafka consumer");
        goto finish;
    }
    consumer->health =
        kafka_health_new(consumer->client, options->settings, consumer->wake, options->on_broker, options->context);
    kafka_wake_queue(consumer->wake, consumer->queue);
    if (options->group) code = subscribe(consumer, options->subscribe, options->subscribe_count, error);
finish:
    if (code) {
        kafka_consumer_free(consumer);
        return code;
    }
    *out = consumer;
    return 0;
}

void kafka_consumer_free(struct kafka_consumer *consumer) {
    if (!consumer) return;
    consumer->closing = true;
    if (consumer->queue) kafka_wake_forget(consumer->queue);
    kafka_health_free(consumer->health);
    kafka_wake_free(consumer->wake);
    if (consumer->client) rd_kafka_consumer_close(consumer->client);
    if (consumer->queue) rd_kafka_queue_destroy(consumer->queue);
    kafka_consumer_drop_membership(consumer);
    kafka_handles_free(&consumer->handles);
    if (consumer->client) rd_kafka_destroy(consumer->client);
    if (consumer->plain) rd_kafka_destroy(consumer->plain);
    positions_clear(&consumer->positions);
    uv_mutex_destroy(&consumer->lock);
    free(consumer->messages);
    free(consumer->records);
    free(consumer);
}

void kafka_consumer_commit(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count) {
    if (!count) return;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    for (size_t i = 0; i < count; i++) kafka_list_add(list, consumer->options.settings, &positions[i]);
    rd_kafka_resp_err_t err = rd_kafka_commit(consumer->client, list, 1);
    if (!err) commit_sent(consumer);
    if (err && err != RD_KAFKA_RESP_ERR__NO_OFFSET) consumer->commit_failures++;
    rd_kafka_topic_partition_list_destroy(list);
}

uint64_t kafka_consumer_commit_failures(const struct kafka_consumer *consumer) { return consumer->commit_failures; }

int64_t kafka_consumer_heard_us(const struct kafka_consumer *consumer) { return consumer->heard_us; }

int64_t kafka_consumer_session_us(const struct kafka_consumer *consumer) { return consumer->session_us; }
