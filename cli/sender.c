#include "cli/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

enum {
    PATIENCE_MS = 30000, /* without a broker */
    LINGER_MS = 100,     /* bulk: large batches */
    TURN_EVERY = 1024,   /* sends between two looks at what was acknowledged */
    TICK_MS = 100,       /* so that waiting for the loop ends when nothing happens */
};

struct sender {
    const struct kafka_settings *settings;
    uv_loop_t loop;
    struct loop_timer *tick;
    struct kafka_producer *producer;
    unsigned since_turn;
    uint64_t lost; /* not acknowledged */
    int lost_code; /* why the first was not */
};

static void on_tick(void *context) {}

static void on_delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                         int64_t offset) {
    struct sender *sender = context;
    if (!code) return;
    if (!sender->lost++) sender->lost_code = code;
}

int sender_new(const struct kafka_settings *settings, struct sender **out, struct error *error) {
    struct sender *sender = MEM_NEW(&(struct sender){.settings = settings});
    if (uv_loop_init(&sender->loop)) {
        free(sender);
        return error_set(error, -EMFILE, "no event loop can be made: too few descriptors");
    }
    sender->tick = loop_timer_new(&sender->loop, TICK_MS, TICK_MS, on_tick, sender);
    const struct kafka_producer_options options = {
        .loop = &sender->loop,
        .settings = settings,
        .linger_ms = LINGER_MS,
        .timeout_ms = PATIENCE_MS,
        .context = sender,
        .on_delivered = on_delivered,
    };
    int code = kafka_producer_new(&options, &sender->producer, error);
    if (code) {
        sender_free(sender);
        return code;
    }
    *out = sender;
    return 0;
}

void sender_free(struct sender *sender) {
    if (!sender) return;
    kafka_producer_free(sender->producer, 0);
    loop_timer_free(sender->tick);
    uv_run(&sender->loop, UV_RUN_DEFAULT);
    uv_loop_close(&sender->loop);
    free(sender);
}

static int failure_of(const struct sender *sender, struct error *error) {
    if (sender->lost_code == -ETIMEDOUT || sender->lost_code == -EHOSTDOWN) {
        return error_set(error, -EHOSTDOWN, "no broker at %s has acknowledged a record for %d s",
                         sender->settings->bootstrap, PATIENCE_MS / 1000);
    }
    if (sender->lost_code == -ENOENT)
        return error_set(error, -ENOENT, "the topics are not there: starling topics create makes them");
    return error_set(error, sender->lost_code, "%" PRIu64 " records were not acknowledged: %s", sender->lost,
                     strerror(-sender->lost_code));
}

/* One try to send a record. */
typedef int (*send_function)(struct kafka_producer *producer, const struct kafka_record *record);

static int send_new(struct kafka_producer *producer, const struct kafka_record *record) {
    return kafka_producer_send(producer, record->topic, record->partition, record->key, record->key_size, record->value,
                               record->value_size, NULL);
}

static int send_timed(struct kafka_producer *producer, const struct kafka_record *record) {
    return kafka_producer_send_at(producer, record->topic, record->partition, record->key, record->key_size,
                                  record->value, record->value_size, record->timestamp, NULL);
}

static int put(struct sender *sender, const struct kafka_record *record, send_function send, struct error *error) {
    int64_t deadline = 0;
    for (;;) {
        if (sender->lost) return failure_of(sender, error);
        int code = send(sender->producer, record);
        if (!code) break;
        if (code != -EAGAIN && code != -EHOSTDOWN) {
            return error_set(error, code, "producing to %s%s: %s", sender->settings->prefix, record->topic->name,
                             strerror(-code));
        }
        int64_t now = clock_monotonic_us();
        if (!deadline || code == -EAGAIN) deadline = now + PATIENCE_MS * 1000LL;
        if (now > deadline) {
            return error_set(error, -EHOSTDOWN, "no broker at %s for %d s", sender->settings->bootstrap,
                             PATIENCE_MS / 1000);
        }
        uv_run(&sender->loop, UV_RUN_ONCE);
    }
    if (++sender->since_turn >= TURN_EVERY) {
        sender->since_turn = 0;
        uv_run(&sender->loop, UV_RUN_NOWAIT);
    }
    return 0;
}

int sender_put(struct sender *sender, const struct topic *topic, int32_t partition, const void *key, size_t key_size,
               const void *value, size_t value_size, struct error *error) {
    const struct kafka_record record = {
        .topic = topic,
        .partition = partition,
        .key = key,
        .key_size = key_size,
        .value = value,
        .value_size = value_size,
    };
    return put(sender, &record, send_new, error);
}

int sender_put_copy(struct sender *sender, const struct kafka_record *record, struct error *error) {
    return put(sender, record, send_timed, error);
}

int sender_put_whole(struct sender *sender, const struct kafka_record *record, struct error *error) {
    return put(sender, record, kafka_producer_send_whole, error);
}

int sender_flush(struct sender *sender, struct error *error) {
    // Ends: what the broker does not acknowledge within its time is lost, and no longer pending.
    while (kafka_producer_pending(sender->producer)) uv_run(&sender->loop, UV_RUN_ONCE);
    return sender->lost ? failure_of(sender, error) : 0;
}
