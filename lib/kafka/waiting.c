#include <time.h>

#include "base/clock.h"
#include "kafka/private.h"

enum { RETRY_MS = 20 };

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
