#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "kafka/private.h"

enum { RETRY_MS = 20, LEARN_MS = 1000, ATTEMPT_MS = 2500 };

int kafka_remaining_ms(int64_t deadline_us) {
    int64_t left = (deadline_us - clock_monotonic_us()) / 1000;
    return left > 0 ? (int)left : 0;
}

int64_t kafka_deadline_us(int timeout_ms) { return clock_monotonic_us() + timeout_ms * 1000LL; }

bool kafka_again(rd_kafka_resp_err_t err, int64_t deadline_us) {
    switch (err) {
    case RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT: // an open transaction may still change it (read_committed asks so)
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE: break;
    default: return false;
    }
    if (!kafka_remaining_ms(deadline_us)) return false;
    nanosleep(&(struct timespec){.tv_sec = 0, .tv_nsec = RETRY_MS * 1000000L}, NULL);
    return true;
}

int kafka_attempt_ms(int64_t deadline_us) {
    int left = kafka_remaining_ms(deadline_us);
    return left < ATTEMPT_MS ? left : ATTEMPT_MS;
}

static void learn_topic(rd_kafka_t *client, const char *name, int64_t deadline_us) {
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
    if (!topic) return;
    if (!rd_kafka_metadata(client, 0, topic, &metadata, kafka_remaining_ms(deadline_us)))
        rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(topic);
}

/* A client that asked for a topic while it was being made may remember it without its partitions. One that reads nothing may remember
 * leaders of up to 15 minutes ago. Neither asks for the topic again by itself. */
static bool leader_in_doubt(rd_kafka_resp_err_t err) {
    switch (err) {
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH: return true;
    default: return false;
    }
}

bool kafka_leaders_again(rd_kafka_t *client, const rd_kafka_topic_partition_list_t *partitions, rd_kafka_resp_err_t err,
                         int64_t deadline_us) {
    if (!leader_in_doubt(err)) return kafka_again(err, deadline_us);
    int64_t learned_us = kafka_deadline_us(LEARN_MS);
    if (learned_us < deadline_us) learned_us = deadline_us;
    for (int i = 0; i < partitions->cnt; i++) {
        const char *topic = partitions->elems[i].topic;
        if (i == 0 || strcmp(topic, partitions->elems[i - 1].topic) != 0) learn_topic(client, topic, learned_us);
    }
    return kafka_again(RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, deadline_us); // is waited for in the same way
}
