#include <errno.h>
#include <time.h>

#include "kafka/producer_private.h"

/* These block, on a worker thread. Meanwhile the loop takes the delivery reports, which flushing waits for: they are
 * events of the producer's queue, which librdkafka's flush leaves alone. */

enum { RETRY_MS = 20 };

/* True: the same call is to be made again. Takes the failure then. */
static bool again(rd_kafka_error_t *failure, int64_t deadline) {
    if (!failure || !rd_kafka_error_is_retriable(failure) || !kafka_remaining_ms(deadline)) return false;
    rd_kafka_error_destroy(failure);
    nanosleep(&(struct timespec){.tv_sec = 0, .tv_nsec = RETRY_MS * 1000000L}, NULL);
    return true;
}

/* Says what the caller has to do about a failure; takes it. */
static int judge(const struct kafka_producer *producer, rd_kafka_error_t *failure, const char *doing,
                 struct error *error) {
    if (!failure) return 0;
    rd_kafka_resp_err_t err = rd_kafka_error_code(failure);
    bool of_group = err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
    kafka_refused(producer->options.settings, err, of_group ? "Read" : "Write",
                  of_group ? "the group of transactional id" : "transactional id", producer->options.transactional_id);
    // Fatal first: a transaction that merely took too long is called "fenced by a newer instance", too.
    int code = rd_kafka_error_is_fatal(failure)             ? -EIO
               : kafka_code(err) == -ESTALE                 ? -ESTALE
               : rd_kafka_error_txn_requires_abort(failure) ? -EAGAIN
               : rd_kafka_error_is_retriable(failure)       ? -ETIMEDOUT
                                                            : -EINVAL;
    error_set(error, code, "%s: %s", doing, rd_kafka_error_string(failure));
    rd_kafka_error_destroy(failure);
    return code;
}

int kafka_transactions_init(struct kafka_producer *producer, int timeout_ms, struct error *error) {
    int64_t deadline = kafka_deadline_us(timeout_ms);
    for (;;) {
        // Retriable until the coordinator is there (a broker that just started loads its log first).
        rd_kafka_error_t *failure = rd_kafka_init_transactions(producer->client, kafka_remaining_ms(deadline));
        if (again(failure, deadline)) continue;
        int code = judge(producer, failure, "starting transactions", error);
        return code == -ETIMEDOUT ? -EAGAIN : code;
    }
}

int kafka_transaction_begin(struct kafka_producer *producer, struct kafka_consumer *consumer, struct error *error) {
    kafka_membership_release(producer->membership);
    producer->membership = consumer ? kafka_consumer_membership(consumer) : NULL;
    return judge(producer, rd_kafka_begin_transaction(producer->client), "beginning a transaction", error);
}

static int add_offsets(struct kafka_producer *producer, const struct kafka_position *offsets, size_t count,
                       int64_t deadline, struct error *error) {
    const struct kafka_membership *membership = producer->membership;
    if (!membership) return error_set(error, -ESTALE, "no partitions were assigned when the transaction was begun");
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    for (size_t i = 0; i < count; i++) kafka_list_add(list, producer->options.settings, &offsets[i]);
    rd_kafka_error_t *failure;
    for (;;) {
        failure = rd_kafka_send_offsets_to_transaction(producer->client, list, kafka_membership_metadata(membership),
                                                       kafka_remaining_ms(deadline));
        if (!again(failure, deadline)) break;
    }
    rd_kafka_topic_partition_list_destroy(list);
    int code = judge(producer, failure, "adding offsets to a transaction", error);
    // Nothing is decided yet, so a transaction that only ran out of time can still be given up.
    return code == -ETIMEDOUT ? -EAGAIN : code;
}

int kafka_transaction_commit(struct kafka_producer *producer, const struct kafka_position *offsets, size_t count,
                             int timeout_ms, struct error *error) {
    int64_t deadline = kafka_deadline_us(timeout_ms);
    if (count) {
        int code = add_offsets(producer, offsets, count, deadline, error);
        if (code) return code;
    }
    for (;;) {
        rd_kafka_error_t *failure = rd_kafka_commit_transaction(producer->client, kafka_remaining_ms(deadline));
        if (again(failure, deadline)) continue;
        // Out of time here means nobody knows whether it was committed: only a new producer of the same id finds out.
        return judge(producer, failure, "committing a transaction", error);
    }
}

int kafka_transaction_flush(struct kafka_producer *producer, int timeout_ms, struct error *error) {
    rd_kafka_resp_err_t err = rd_kafka_flush(producer->client, timeout_ms);
    return err ? error_set(error, -EAGAIN, "flushing a transaction: %s", rd_kafka_err2str(err)) : 0;
}

int kafka_transaction_abort(struct kafka_producer *producer, int timeout_ms, struct error *error) {
    int64_t deadline = kafka_deadline_us(timeout_ms);
    for (;;) {
        rd_kafka_error_t *failure = rd_kafka_abort_transaction(producer->client, kafka_remaining_ms(deadline));
        if (again(failure, deadline)) continue;
        return judge(producer, failure, "aborting a transaction", error);
    }
}
