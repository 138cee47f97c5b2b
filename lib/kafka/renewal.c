#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kafka/producer_private.h"

enum {
    TELL_MS = 5000,         /* without an acknowledgement, while records wait: others should know */
    PATIENCE_MS = 8000,     /* the client is replaced, and the next one gets twice as long, */
    PATIENCE_MAX_MS = 64000 /* up to this, until something is acknowledged */
};

/* The broker has lost the client's place in the sequence of its records: all that follow may fail, too. */
static bool spoils(rd_kafka_resp_err_t err) {
    return err == RD_KAFKA_RESP_ERR__FATAL || err == RD_KAFKA_RESP_ERR__FENCED ||
           err == RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER || err == RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID ||
           err == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH || err == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING;
}

/* Nobody has answered. Else it is written, or this record alone is refused. */
static bool unanswered(rd_kafka_resp_err_t err) {
    int code = kafka_code(err);
    return code == -ETIMEDOUT || code == -EHOSTDOWN || code == -ECANCELED || spoils(err);
}

static void tell(struct kafka_producer *producer, const char *reason) {
    const struct kafka_settings *settings = producer->options.settings;
    if (producer->told == (reason != NULL)) return;
    producer->told = reason != NULL;
    if (settings->on_writes) settings->on_writes(settings->writes_context, reason);
}

void kafka_renewal_reported(struct kafka_producer *producer, rd_kafka_resp_err_t err) {
    if (producer->options.transactional_id) return;
    if (err) {
        producer->spoiled |= spoils(err);
        if (unanswered(err)) return;
    }
    producer->waits_us = producer->pending ? clock_coarse_ms() * 1000 : 0; // of each record, so it must cost little
    producer->patience_ms = 0;
    tell(producer, NULL);
}

/* ---- a client that was replaced ---- */

static void destroy(void *context) {
    struct retired_client *old = context;
    kafka_handles_free(&old->handles);
    rd_kafka_queue_destroy(old->queue);
    rd_kafka_destroy(old->client);
    free(old->opaque);
}

/* Waits for its threads, which the loop must not do. */
static void bury(struct kafka_producer *producer) {
    struct retired_client *old = producer->old;
    producer->old = NULL;
    kafka_wake_forget(old->queue);
    loop_work(producer->options.loop, destroy, free, old);
}

static void renew(struct kafka_producer *producer) {
    struct kafka_health *health = producer->health;
    struct retired_client *old = MEM_NEW(&(struct retired_client){
        .client = producer->client,
        .queue = producer->queue,
        .handles = producer->handles,
        .opaque = producer->opaque,
        .pending = producer->pending,
    });
    if (kafka_producer_open(producer, NULL)) { // no thread or descriptor left: the next second's turn tries again
        free(old);
        return;
    }
    kafka_health_free(health);
    producer->old = old;
    producer->spoiled = false;
    producer->waits_us = 0;
    // All that waits in it comes back as failed.
    rd_kafka_purge(old->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
}

void kafka_renewal_free(struct kafka_producer *producer) {
    struct retired_client *old = producer->old;
    for (int tries = 0; old && old->pending && tries < 10; tries++)
        kafka_producer_take(producer, old->queue, &old->pending, 100);
    if (!old) return;
    kafka_wake_forget(old->queue);
    destroy(old);
    free(old);
    producer->old = NULL;
}

/* ---- when ---- */

static void look_at_fatal(struct kafka_producer *producer) {
    char reason[256];
    if (!rd_kafka_fatal_error(producer->client, reason, sizeof reason)) return;
    producer->spoiled = true;
    tell(producer, reason);
}

/* Nothing may come because no broker is there; librdkafka goes on by itself then. */
static void look_at_silence(struct kafka_producer *producer, int64_t now_us) {
    int64_t waited_ms = (now_us - producer->waits_us) / 1000;
    if (!producer->patience_ms) producer->patience_ms = PATIENCE_MS;
    if (waited_ms < TELL_MS) return;
    tell(producer, "no record is acknowledged any more");
    kafka_health_ask(producer->health);
    if (!kafka_health_up(producer->health)) {
        producer->waits_us = now_us - TELL_MS * 1000LL;
    } else if (waited_ms >= producer->patience_ms) {
        producer->patience_ms =
            producer->patience_ms * 2 > PATIENCE_MAX_MS ? PATIENCE_MAX_MS : producer->patience_ms * 2;
        producer->spoiled = true;
    }
}

bool kafka_renewal_look(struct kafka_producer *producer) {
    struct retired_client *old = producer->old;
    bool more = old && kafka_producer_take(producer, old->queue, &old->pending, 0);
    if (old && !old->pending) bury(producer);
    if (producer->options.transactional_id) return more;
    int64_t now_us = clock_monotonic_us();
    look_at_fatal(producer);
    if (producer->waits_us)
        look_at_silence(producer, now_us);
    else if (kafka_health_up(producer->health) && now_us - producer->renewed_us > TELL_MS * 1000LL)
        tell(producer, NULL); // nobody has tried for so long
    if (producer->spoiled && !producer->old) renew(producer);
    return more;
}
