#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "fakes/private.h"

enum { LARGEST = 1000000 };

struct fake_report {
    struct fake_report *next;
    void *opaque;
    int code;
    const struct topic *topic;
    int32_t partition;
    int64_t offset;
    bool dead;
};

struct kafka_producer {
    struct kafka_producer_options options;
    struct loop_timer *timer;
    struct fake_report *first, **last; /* reports that have not been told */
    size_t pending;
    uint64_t dead_lost;
    uint64_t epoch; /* of the transactional id; 0: not begun */
    struct fake_membership membership;
    bool in_transaction, fatal;
    bool must_abort; /* a message of the transaction was not delivered */
};

static void report_next(struct kafka_producer *producer) {
    fake_lock();
    struct fake_report *report = producer->first;
    producer->first = report->next;
    if (!producer->first) producer->last = &producer->first;
    producer->pending--;
    fake_unlock();
    if (report->dead && report->code) producer->dead_lost++;
    if (!report->dead && producer->options.on_delivered)
        producer->options.on_delivered(producer->options.context, report->opaque, report->code, report->topic,
                                       report->partition, report->offset);
    free(report);
}

static void turn(void *context) {
    struct kafka_producer *producer = context;
    while (producer->first && !fake.reports_held) report_next(producer);
}

int kafka_producer_new(const struct kafka_producer_options *options, struct kafka_producer **out, struct error *error) {
    struct kafka_producer *producer = mem_alloc(sizeof *producer);
    *producer = (struct kafka_producer){
        .options = *options,
        .timer = loop_timer_new(options->loop, 1, 1, turn, producer),
        .last = &producer->first,
    };
    fake_lock();
    fake.clients++;
    fake_unlock();
    *out = producer;
    return 0;
}

void kafka_producer_free(struct kafka_producer *producer, int flush_ms) {
    if (!producer) return;
    while (producer->first) report_next(producer);
    loop_timer_free(producer->timer);
    fake_lock();
    fake.clients--;
    fake_unlock();
    free(producer);
}

static int32_t partition_of(const struct topic *topic, const void *key, size_t key_size) {
    size_t hashed = topic->key_hashed && topic->key_hashed < key_size ? topic->key_hashed : key_size;
    return hash_partition(key, hashed, fake_partitions(topic));
}

/* Under the lock. */
static int produce(struct kafka_producer *producer, struct fake_log *log, struct fake_entry entry,
                   struct fake_report report) {
    bool plain = !producer->options.transactional_id;
    struct fake_id *id = plain ? NULL : fake_id_of(producer->options.transactional_id);
    bool fenced = id && id->epoch != producer->epoch;
    bool failing = fake.failing_reports > 0;
    if (!plain && !producer->in_transaction) return -EINVAL;
    fake.failing_reports -= failing;
    report.code = fenced ? -EIO : failing ? fake.failing_code : 0;
    producer->must_abort |= report.code != 0;
    entry.state = plain ? RECORD_COMMITTED : RECORD_OPEN;
    entry.transaction = plain ? 0 : id->transaction;
    report.offset = -1;
    if (!fenced && (!failing || fake.failing_written)) report.offset = fake_log_append(log, entry);
    if (report.code) report.offset = -1;
    struct fake_report *kept = mem_alloc(sizeof *kept);
    *kept = report;
    kept->next = NULL;
    *producer->last = kept;
    producer->last = &kept->next;
    producer->pending++;
    return 0;
}

int kafka_producer_send(struct kafka_producer *producer, const struct topic *topic, int32_t partition, const void *key,
                        size_t key_size, const void *value, size_t value_size, void *opaque) {
    int code = fake_enter(FAKE_SEND, NULL);
    if (code) return code;
    if (key_size + value_size > LARGEST) return -EINVAL;
    fake_lock();
    if (partition == KAFKA_PARTITION_BY_KEY) partition = partition_of(topic, key, key_size);
    struct fake_log *log = fake_log_find(topic, partition, false);
    code = log ? produce(producer, log,
                         (struct fake_entry){.key = (uint8_t *)(uintptr_t)key,
                                             .key_size = key_size,
                                             .value = (uint8_t *)(uintptr_t)value,
                                             .value_size = value_size},
                         (struct fake_report){.opaque = opaque, .topic = topic, .partition = partition})
               : -EINVAL;
    fake_unlock();
    return code;
}

int kafka_producer_send_dead(struct kafka_producer *producer, const struct kafka_record *record, const char *reason) {
    int code = fake_enter(FAKE_SEND, NULL);
    fake_lock();
    struct fake_log *log = fake_log_find(record->topic, 0, true);
    if (!code && !log) code = -EINVAL;
    if (!code)
        code = produce(producer, log,
                       (struct fake_entry){.key = (uint8_t *)(uintptr_t)record->key,
                                           .key_size = record->key_size,
                                           .value = (uint8_t *)(uintptr_t)record->value,
                                           .value_size = record->value_size,
                                           .reason = (char *)(uintptr_t)reason,
                                           .dead_partition = record->partition,
                                           .dead_offset = record->offset},
                       (struct fake_report){.topic = record->topic, .dead = true});
    fake_unlock();
    if (code) producer->dead_lost++;
    return code;
}

size_t kafka_producer_pending(const struct kafka_producer *producer) {
    fake_lock();
    size_t pending = producer->pending;
    fake_unlock();
    return pending;
}

bool kafka_producer_up(const struct kafka_producer *producer) { return true; }

uint64_t kafka_producer_dead_lost(const struct kafka_producer *producer) { return producer->dead_lost; }

/* ---- transactions ---- */

int kafka_transactions_init(struct kafka_producer *producer, int timeout_ms, struct error *error) {
    int code = fake_enter(FAKE_INIT, error);
    if (code) return code;
    fake_lock();
    struct fake_id *id = fake_id_of(producer->options.transactional_id);
    fake_transaction_end(id, false);
    producer->epoch = ++id->epoch;
    fake_unlock();
    return 0;
}

static int fatal(struct kafka_producer *producer, struct error *error) {
    producer->fatal = true;
    return error_set(error, -EIO, "another producer has this transactional id");
}

int kafka_transaction_begin(struct kafka_producer *producer, struct kafka_consumer *consumer, struct error *error) {
    int code = fake_enter(FAKE_BEGIN, error);
    if (code) return code;
    fake_lock();
    struct fake_id *id = fake_id_of(producer->options.transactional_id);
    if (producer->fatal || id->epoch != producer->epoch) code = fatal(producer, error);
    if (!code && producer->in_transaction) code = error_set(error, -EINVAL, "a transaction is open");
    if (!code) {
        id->transaction = ++fake.transactions;
        producer->in_transaction = true;
        producer->must_abort = false;
        producer->membership = consumer ? fake_membership_of(consumer) : (struct fake_membership){.consumer = 0};
    }
    fake_unlock();
    return code;
}

/* Waits for the delivery reports, which the loop tells. */
static bool flushed(struct kafka_producer *producer, int timeout_ms) {
    int64_t deadline_us = clock_monotonic_us() + timeout_ms * 1000LL;
    while (kafka_producer_pending(producer)) {
        if (clock_monotonic_us() >= deadline_us) return false;
        usleep(500);
    }
    return true;
}

/* Under the lock. */
static int commit(struct kafka_producer *producer, struct fake_id *id, const struct kafka_position *offsets,
                  size_t count, struct error *error) {
    if (id->epoch != producer->epoch) return fatal(producer, error);
    if (producer->must_abort) return error_set(error, -EAGAIN, "a message was not delivered");
    if (count && !fake_membership_holds(&producer->membership))
        return error_set(error, -ESTALE, "the group has moved on");
    for (size_t i = 0; i < count; i++) {
        struct fake_log *log = fake_log_find(offsets[i].topic, offsets[i].partition, false);
        if (!log) return error_set(error, -EINVAL, "no such partition");
        log->pending = offsets[i].offset;
        log->pending_in = id->transaction;
    }
    bool unanswered = fake.unanswered;
    fake.unanswered = false;
    producer->in_transaction = false;
    if (!unanswered || fake.unanswered_committed) fake_transaction_end(id, true);
    if (!unanswered) return 0;
    producer->fatal = true;
    return error_set(error, -ETIMEDOUT, "the commit got no answer in time");
}

int kafka_transaction_commit(struct kafka_producer *producer, const struct kafka_position *offsets, size_t count,
                             int timeout_ms, struct error *error) {
    int code = fake_enter(FAKE_TRANSACTION_COMMIT, error);
    if (code) return code;
    if (!flushed(producer, timeout_ms)) return error_set(error, -ETIMEDOUT, "messages are still under way");
    fake_lock();
    code = commit(producer, fake_id_of(producer->options.transactional_id), offsets, count, error);
    fake_unlock();
    return code;
}

int kafka_transaction_flush(struct kafka_producer *producer, int timeout_ms, struct error *error) {
    return flushed(producer, timeout_ms) ? 0 : error_set(error, -EAGAIN, "messages are still under way");
}

int kafka_transaction_abort(struct kafka_producer *producer, int timeout_ms, struct error *error) {
    int code = fake_enter(FAKE_ABORT, error);
    if (code) return code;
    if (!flushed(producer, timeout_ms)) return error_set(error, -ETIMEDOUT, "messages are still under way");
    fake_lock();
    struct fake_id *id = fake_id_of(producer->options.transactional_id);
    if (producer->fatal || id->epoch != producer->epoch)
        code = fatal(producer, error);
    else
        fake_transaction_end(id, false);
    producer->in_transaction = false;
    fake_unlock();
    return code;
}
