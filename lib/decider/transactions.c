#include "decider/private.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "decider/command_offset.h"

enum {
    INIT_TIMEOUT_MS = 10000,
    COMMIT_MORE_MS = 3000, /* than the broker allows the transaction itself */
    TOO_LARGE = 1000000,   /* bytes; Kafka takes no record that is much larger, unless it is told to */
    RETRY_MS = 500,
    MANY = 500,         /* so many at once are bulk: their transaction waits for more of them, */
    HOLD_MS = 100,      /* so long; and takes no more when it is so old, */
    FULL_MS = 300,      /* or so old where more are there: nothing is decided while one is committed */
    PAUSE_MS = 50,      /* before the next one after the second failure, and twice as long after each further one, */
    PAUSE_MAX_MS = 3200 /* up to this */
};

/* ---- the producer ---- */

static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct decider *decider = context;
    struct written *written = decider_written(decider, topic);
    decider->too_large |= code == -EINVAL;
    if (!code && decider->fence.left) decider->fence.left--;
    if (!code && written && offset >= written->ends[partition]) written->ends[partition] = offset + 1;
}

static void producer_drop(struct decider *decider) {
    kafka_producer_free(decider->producer, 0);
    decider->producer = NULL;
    decider->stage = STAGE_DOWN;
    if (!decider->stopped) loop_timer_again(decider->timer, RETRY_MS, 0);
}

static void init_work(void *context) {
    struct decider *decider = context;
    decider->code = kafka_transactions_init(decider->producer, INIT_TIMEOUT_MS, &decider->reason);
}

static void init_done(void *context) {
    struct decider *decider = context;
    if (decider->code) {
        log_warn(decider->options.log, "transactions cannot be started yet", LOG_TEXT("reason", decider->reason.text));
        producer_drop(decider);
        return;
    }
    decider->stage = STAGE_IDLE;
    decider->options.on_handled(decider->options.context);
}

static void producer_start(struct decider *decider) {
    struct kafka_producer_options options = {
        .loop = decider->options.loop,
        .settings = decider->options.settings,
        .metrics = decider->options.registry,
        .transactional_id = decider->transactional_id,
        .linger_ms = HOLD_MS, // committing sends what is left
        .timeout_ms = (int)decider->pacing.allowed_ms,
        .context = decider,
        .on_delivered = delivered,
    };
    decider->code = kafka_producer_new(&options, &decider->producer, &decider->reason);
    if (decider->code) {
        log_error(decider->options.log, "no producer for transactions", LOG_TEXT("reason", decider->reason.text));
        producer_drop(decider);
        return;
    }
    decider->pacing.producer_ms = decider->pacing.allowed_ms;
    decider->stage = STAGE_STARTING;
    worker_run(decider->worker, init_work, init_done, decider);
}

void decider_start(void *context) {
    struct decider *decider = context;
    if (decider->stage == STAGE_DOWN && !decider->stopped) producer_start(decider);
}

/* ---- what a transaction holds ---- */

int decider_write(struct decider *decider, const struct topic *topic, int32_t partition, const void *key,
                  size_t key_size, const void *value, size_t value_size) {
    decider->wrote = true;
    int code = kafka_producer_send(decider->producer, topic, partition, key, key_size, value, value_size, NULL);
    decider->too_large |= code == -EINVAL && key_size + value_size > TOO_LARGE;
    return code;
}

static void position_put(struct decider *decider, const struct queued_command *queued) {
    struct course *course = &decider->courses[queued->place];
    if (!course->position) course->position = ++decider->position_count;
    course->decided = queued->offset + 1;
    course->queued--;
    decider->positions[course->position - 1] =
        (struct kafka_position){.topic = queued->topic, .partition = queued->partition, .offset = queued->offset + 1};
}

static void positions_clear(struct decider *decider) {
    for (size_t place = 0; place < decider->places; place++) decider->courses[place].position = 0;
    decider->position_count = 0;
}

/* The commands' offsets as state: what the group's are compared with. */
static int write_offsets(struct decider *decider, struct error *error) {
    const struct topic *offsets = decider->options.offsets;
    const bool held = decider->options.held;
    size_t count = held ? decider->commit_count : decider->position_count;
    int code = 0;
    for (size_t i = 0; offsets && !code && i < count; i++) {
        const struct kafka_position *position = held ? &decider->commits[i] : &decider->positions[i];
        uint8_t value[COMMAND_OFFSET_BYTES];
        size_t size = command_offset_put(value, position->offset);
        const char *name = position->topic->name;
        code = decider_write(decider, offsets, position->partition, name, strlen(name), value, size);
    }
    return code ? error_set(error, code, "an offset could not be written: %s", strerror(-code)) : 0;
}

static int bury(struct decider *decider, const struct dead_command *dead, struct error *error) {
    decider->options.metrics.dead->value++;
    decider->wrote = true;
    int code = kafka_producer_send_dead(decider->producer, &dead->record, dead->reason);
    return code ? error_set(error, code, "a dead letter could not be written: %s", strerror(-code)) : 0;
}

/* ---- traces ---- */

struct tracer *decider_tracer(const struct decider *decider) {
    return decider->options.settings ? decider->options.settings->tracer : NULL;
}

uint64_t decider_trace_number(const struct queued_command *queued) {
    return (uint64_t)queued->place << 44 ^ (uint64_t)queued->offset;
}

/* A traced command is decided alone. The transaction becomes a span of its trace. */
static int decide(struct decider *decider, size_t count, struct trace_scope *scope, struct error *error) {
    struct tracer *tracer = decider_tracer(decider);
    if (scope && decider->traced_count < TRACED_MAX)
        decider->traced[decider->traced_count++] = tracer_child(tracer, &scope->context);
    struct trace_scope *before = tracer_enter(tracer, scope);
    int code = decider->options.decide(decider->options.context, decider->slice, count, error);
    tracer_enter(tracer, before);
    return code;
}

static void finish_spans(struct decider *decider) {
    const struct trace_facts facts = {.kind = TRACE_INTERNAL, .name = "transaction", .failed = decider->code != 0};
    for (size_t i = 0; i < decider->traced_count; i++)
        tracer_finish(decider_tracer(decider), &decider->traced[i], &facts);
    decider->traced_count = 0;
}

/* Commands that the transaction may hold. */
static size_t limit_of(const struct decider *decider) { return decider->alone ? 1 : decider->pacing.limit; }

/* One slice of the queue into the transaction; it ends before a traced command, or with one. */
static int fill(struct decider *decider, struct error *error) {
    struct decider_queue *queue = &decider->queue;
    size_t room = limit_of(decider) - decider->taken, count = 0, taken = 0;
    struct trace_scope scope;
    bool traced = false;
    int code = 0;
    for (; !code && !traced && taken < queue->count && taken < room && taken < SLICE; taken++) {
        const struct queued_command *queued = queue_at(queue, taken);
        uint64_t number = decider_trace_number(queued);
        traced = tracer_parked(decider_tracer(decider), decider, number, &scope, NULL);
        if (traced && taken) {
            traced = false;
            break;
        }
        tracer_forget(decider_tracer(decider), decider, number);
        if (queued->dead)
            code = bury(decider, queued->dead, error);
        else
            decider->slice[count++] = (struct decider_command){.topic = queued->topic,
                                                               .partition = queued->partition,
                                                               .offset = queued->offset,
                                                               .item = queue_item(queue, taken)};
        position_put(decider, queued);
    }
    if (!code && count) code = decide(decider, count, traced ? &scope : NULL, error);
    queue_drop(queue, taken);
    decider->taken += taken;
    decider_queue_tell(decider);
    decider_overlays_tell(decider);
    return code;
}

/* ---- transactions ---- */

static void commit_work(void *context) {
    struct decider *decider = context;
    int timeout_ms = (int)decider->pacing.producer_ms + COMMIT_MORE_MS;
    bool held = decider->options.held;
    if (!decider->code)
        decider->code = kafka_transaction_commit(decider->producer, held ? decider->commits : decider->positions,
                                                 held ? decider->commit_count : decider->position_count, timeout_ms,
                                                 &decider->reason);
    bool given_up = decider->code == -EAGAIN || decider->code == -ESTALE;
    // A producer whose abort fails too is replaced: a new one of the same id ends what it left.
    if (given_up && kafka_transaction_abort(decider->producer, timeout_ms, NULL)) decider->code = -EIO;
}

/* Those who wait for commands that the transaction refuses. */
static void tell_refused(struct decider *decider) {
    for (size_t i = 0; i < decider->refused_count && i < REFUSED_MAX; i++) {
        const struct refused_command *refused = &decider->refused[i];
        size_t position = decider->courses[refused->place].position;
        if (position && decider->handled[refused->place] <= refused->offset &&
            refused->offset < decider->positions[position - 1].offset)
            waiters_fail(decider->waiters, refused->place, refused->offset, -EMSGSIZE);
    }
}

static void committed(struct decider *decider) {
    decider->failures = 0;
    decider->alone -= decider->taken < decider->alone ? decider->taken : decider->alone;
    decider->options.metrics.transactions->value++;
    decider->options.metrics.commands->value += (double)decider->taken;
    decider->again -= decider->taken < decider->again ? decider->taken : decider->again;
    decider->taken = 0;
    decider_queue_tell(decider);
    if (decider->revoked) {
        // Other state may have been written since by another owner: nothing of this is to be relied on.
        decider_overlays_clear(decider);
    } else {
        decider_overlays_commit(decider);
        tell_refused(decider);
        for (size_t place = 0; place < decider->places; place++) {
            size_t position = decider->courses[place].position;
            if (position) decider->handled[place] = decider->positions[position - 1].offset;
        }
        decider_held(decider);
        waiters_handled(decider->waiters, decider->handled);
    }
    if (pacing_outgrown(&decider->pacing)) producer_drop(decider);
    decider->options.on_handled(decider->options.context);
    decider_run(decider);
}

/* A record that its topic does not take fails each transaction that it is in: its command is found by deciding one by one, and goes to
 * the dead letters instead. */
static void find_too_large(struct decider *decider) {
    if (decider->taken > 1) {
        decider->alone = decider->taken;
        return;
    }
    const struct kafka_position *position = &decider->positions[0];
    struct refused_command *refused = &decider->refused[decider->refused_count++ % REFUSED_MAX];
    refused->offset = position->offset - 1;
    for (refused->place = 0; !decider->courses[refused->place].position;) refused->place++;
    if (decider->refused_s) decider->refused_s->value = (double)clock_wall_ms() / 1000;
    log_error(decider->options.log,
              "a command is refused: a record of its outcome is larger than the topic takes (max.message.bytes)",
              LOG_TEXT("topic", position->topic->name), LOG_INT("partition", position->partition),
              LOG_INT("offset", refused->offset));
}

/* One that fails at once again and again must not keep the broker and the log busy. */
static void note_failure(struct decider *decider) {
    int64_t pause_ms = decider->failures ? PAUSE_MS << (decider->failures - 1) : 0;
    if (decider->failures && pause_ms >= PAUSE_MAX_MS)
        pause_ms = PAUSE_MAX_MS;
    else
        decider->failures++;
    decider->pause_us = clock_monotonic_us() + pause_ms * 1000;
    decider->options.metrics.failed->value++;
    log_warn(decider->options.log, "commands were not committed and will be decided again",
             LOG_INT("commands", (int64_t)decider->taken), LOG_TEXT("reason", decider->reason.text));
}

static void commit_done(void *context) {
    struct decider *decider = context;
    bool revoked = decider->revoked;
    decider->stage = STAGE_IDLE;
    finish_spans(decider);
    int64_t took_ms = (clock_monotonic_us() - decider->opened_us) / 1000;
    if (!decider->code) {
        pacing_committed(&decider->pacing, decider->taken, took_ms);
        committed(decider);
        return;
    }
    // Where nothing was written nothing is lost: the next owner of the partitions reads the same.
    if (decider->wrote || !revoked || !decider->options.held) note_failure(decider);
    pacing_failed(&decider->pacing, decider->taken, took_ms);
    if (decider->too_large && decider->taken) find_too_large(decider);
    if (revoked) {
        decider_overlays_clear(decider);
    } else {
        size_t waiting = decider->taken + decider->queue.count;
        if (decider->again < waiting) decider->again = waiting;
        decider_forget(decider);
    }
    // After a record that was refused librdkafka leaves out numbers of the sequence: the next transaction would fail for that.
    bool broken = (decider->code != -EAGAIN && decider->code != -ESTALE) || decider->too_large;
    if (broken || pacing_outgrown(&decider->pacing)) producer_drop(decider);
    // A stale member is told by the group what it owns; until then nothing of it may be asked for.
    decider->options.on_reset(decider->options.context);
}

void decider_commit(struct decider *decider) {
    loop_timer_stop(decider->turn);
    if (!decider->code && decider->options.finish)
        decider->code = decider->options.finish(decider->options.context, &decider->reason) ? -EAGAIN : 0;
    if (decider->options.held) decider_hold(decider);
    if (!decider->code && write_offsets(decider, &decider->reason)) decider->code = -EAGAIN;
    decider->stage = STAGE_COMMITTING;
    worker_run(decider->worker, commit_work, commit_done, decider);
}

/* The timer calls again if it cannot be opened yet. */
bool decider_open(struct decider *decider) {
    int64_t now_us = clock_monotonic_us(), pause_us = decider->pause_us - now_us;
    if (pause_us > 0) {
        loop_timer_again(decider->turn, (uint64_t)pause_us / 1000 + 1, 0);
        return false;
    }
    positions_clear(decider);
    decider->taken = 0;
    decider->too_large = false;
    decider->revoked = false;
    decider->wrote = false;
    decider->opened_us = now_us;
    decider->code = kafka_transaction_begin(decider->producer, decider->consumer, &decider->reason);
    decider->stage = STAGE_OPEN;
    return true;
}

/* ---- fences ---- */

static void fence_work(void *context) {
    struct decider *decider = context;
    int timeout_ms = (int)decider->pacing.producer_ms + COMMIT_MORE_MS;
    if (!decider->code) decider->code = kafka_transaction_flush(decider->producer, timeout_ms, &decider->reason);
    if (kafka_transaction_abort(decider->producer, timeout_ms, decider->code ? NULL : &decider->reason))
        decider->code = -EIO;
}

static void fence_done(void *context) {
    struct decider *decider = context;
    struct decider_fence fence = decider->fence;
    decider->fence = (struct decider_fence){.done = NULL};
    decider->stage = STAGE_IDLE;
    if (!decider->code && fence.left)
        decider->code = error_set(&decider->reason, -EAGAIN, "some records were not acknowledged");
    if (decider->code) {
        log_warn(decider->options.log, "it is not known yet where states end",
                 LOG_TEXT("reason", decider->reason.text));
        producer_drop(decider);
    }
    if (decider->consumer) fence.done(fence.context, decider->code ? -EAGAIN : 0); // else the owner is gone
    decider->options.on_handled(decider->options.context);
}

int decider_fence(struct decider *decider, const int32_t *partitions, size_t count, void *context,
                  void (*done)(void *context, int code)) {
    if (decider_is_quiet(decider)) decider_commit(decider);
    if (decider->stage != STAGE_IDLE || decider->stopped || !decider->consumer || !decider_open(decider))
        return -EAGAIN;
    decider->fence = (struct decider_fence){context, done, count * decider->options.state_count};
    for (size_t i = 0; !decider->code && i < decider->fence.left; i++) {
        const struct topic *topic = decider->options.states[i % decider->options.state_count].topic;
        // An empty key is no record's, and names no partition. Nobody who reads committed records ever sees it.
        decider->code = decider_write(decider, topic, partitions[i / decider->options.state_count], "", 0, NULL, 0);
    }
    decider->stage = STAGE_COMMITTING;
    worker_run(decider->worker, fence_work, fence_done, decider);
    return 0;
}

static void run_transaction(struct decider *decider) {
    if (decider->stopped || !decider->consumer) return;
    if (decider->stage == STAGE_IDLE && (!decider->queue.count || !decider_open(decider))) return;
    if (decider->stage != STAGE_OPEN) return;
    if (decider_is_quiet(decider)) decider->opened_us = clock_monotonic_us(); // the broker has not heard of it yet
    if (!decider->code) decider->code = fill(decider, &decider->reason);
    // A transaction is given up if anything could not be put into it, for whatever reason.
    if (decider->code) decider->code = -EAGAIN;
    size_t left = decider->queue.count;
    if (decider_is_quiet(decider) && decider->taken < limit_of(decider) && !waiters_count(decider->waiters)) {
        if (left) loop_timer_again(decider->turn, 0, 0);
        return;
    }
    int64_t left_ms = (left ? FULL_MS : HOLD_MS) - (clock_monotonic_us() - decider->opened_us) / 1000;
    bool full = decider->taken >= limit_of(decider) || left_ms <= 0;
    if (decider->code || full || (!left && decider->taken < MANY))
        decider_commit(decider);
    else
        loop_timer_again(decider->turn, left ? 0 : (uint64_t)left_ms, 0);
}

/* The loop may be working for a trace: of the record that was just taken, and not of all that is decided now. */
void decider_run(struct decider *decider) {
    struct trace_scope *before = tracer_enter(decider_tracer(decider), NULL);
    run_transaction(decider);
    tracer_enter(decider_tracer(decider), before);
}
