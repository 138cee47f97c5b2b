#include "decider/decider.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/worker.h"
#include "decider/command_offset.h"
#include "decider/queue.h"
#include "decider/waiters.h"

enum {
    INIT_TIMEOUT_MS = 10000,
    COMMIT_TIMEOUT_MS = 5000, /* the transaction itself is given up by the broker after 2 s */
    RETRY_MS = 500,
    SLICE = 4000,  /* commands decided in one go, before the loop may do something else */
    MANY = 500,    /* so many at once are bulk: their transaction waits for more of them, */
    HOLD_MS = 100, /* so long; and takes no more when it is so old, */
    FULL_MS = 300, /* or so old where more are there: nothing is decided while one is committed */
    WAITERS_DEFAULT = 10000,
    FAILING = 3,        /* transactions that failed in a row: trouble that does not pass by itself */
    PAUSE_MS = 50,      /* before the next one after the second failure, and twice as long after each further one, */
    PAUSE_MAX_MS = 3200 /* up to this */
};

enum stage {
    STAGE_DOWN,     /* no producer; the timer makes one */
    STAGE_STARTING, /* the worker thread starts transactions */
    STAGE_IDLE,
    STAGE_OPEN,      /* a transaction is being filled */
    STAGE_COMMITTING /* the worker thread commits */
};

/* A topic of state, and what was written to it. */
struct written {
    struct overlay *overlay;
    int64_t *ends; /* by partition: behind the last record that was written */
    int64_t
        *read; /* by partition: how far it is read back; what was read while the commit was under way counts after it */
};

/* A partition of a topic of commands; its place is topic number * partitions + partition. */
struct course {
    int64_t expected; /* the next record that is taken; -1: not begun */
    size_t position;  /* 1 + its index in `positions`; 0: nothing of it is in the transaction */
};

struct decider {
    struct decider_options options;
    char *transactional_id;
    struct worker *worker;
    struct kafka_producer *producer;
    struct kafka_consumer *consumer;
    struct loop_timer *timer, *turn;
    struct waiters *waiters;
    enum stage stage;
    bool stopped;
    bool revoked; /* since the transaction that is under way was begun */

    struct decider_queue queue;
    struct course *courses; /* by place */
    int64_t *handled;       /* by place; -1: not begun */
    size_t places;
    struct written *written; /* by number of the state topic */

    struct kafka_position *positions; /* of the transaction: the next command of each partition in it */
    size_t position_count;
    size_t taken; /* commands in it */
    int64_t opened_us;
    unsigned failures; /* in a row */
    int64_t pause_us;  /* no transaction is opened before */

    struct decider_command slice[SLICE];

    int code; /* the worker's result */
    struct error reason;
};

static void producer_start(struct decider *decider);
static void run_on(void *context);
static void commit(struct decider *decider);

/* ---- beginning and end ---- */

static struct written *written_of(const struct decider *decider, const struct topic *topic) {
    for (size_t i = 0; i < decider->options.state_count; i++) {
        if (decider->options.states[i].topic == topic) return &decider->written[i];
    }
    return NULL;
}

static void delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                      int64_t offset) {
    struct written *written = written_of(context, topic);
    if (!code && written && offset >= written->ends[partition]) written->ends[partition] = offset + 1;
}

static void tried_again(void *context) {
    struct decider *decider = context;
    if (decider->stage == STAGE_DOWN && !decider->stopped) producer_start(decider);
}

static void courses_forget(struct decider *decider) {
    for (size_t place = 0; place < decider->places; place++) {
        decider->courses[place].expected = -1;
        decider->handled[place] = -1;
    }
}

struct decider *decider_new(const struct decider_options *options) {
    size_t partitions = (size_t)options->partitions, places = options->command_count * partitions;
    struct decider *decider = mem_alloc(sizeof *decider);
    *decider = (struct decider){
        .options = *options,
        .transactional_id = mem_string(options->transactional_id),
        .worker = worker_new(options->loop),
        .timer = loop_timer_new(options->loop, 1, 0, tried_again, decider),
        .turn = loop_timer_new(options->loop, HOLD_MS, 0, run_on, decider),
        .waiters = waiters_new(options->loop, options->waiters ? options->waiters : WAITERS_DEFAULT),
        .stage = STAGE_DOWN,
        .queue = queue_new(options->item_size),
        .courses = mem_zero(places, sizeof *decider->courses),
        .handled = mem_zero(places, sizeof *decider->handled),
        .places = places,
        .written = mem_zero(options->state_count, sizeof *decider->written),
        .positions = mem_zero(places, sizeof *decider->positions),
    };
    for (size_t i = 0; i < options->state_count; i++) {
        const struct decider_state *state = &options->states[i];
        decider->written[i] = (struct written){.overlay = overlay_new(state->key_max, state->value_max),
                                               .ends = mem_zero(partitions, sizeof(int64_t)),
                                               .read = mem_zero(partitions, sizeof(int64_t))};
    }
    courses_forget(decider);
    loop_timer_stop(decider->turn);
    return decider;
}

void decider_free(struct decider *decider) {
    if (!decider) return;
    waiters_free(decider->waiters);
    kafka_producer_free(decider->producer, 0);
    worker_free(decider->worker);
    loop_timer_free(decider->timer);
    loop_timer_free(decider->turn);
    queue_free(&decider->queue);
    for (size_t i = 0; i < decider->options.state_count; i++) {
        overlay_free(decider->written[i].overlay);
        free(decider->written[i].ends);
        free(decider->written[i].read);
    }
    free(decider->written);
    free(decider->courses);
    free(decider->handled);
    free(decider->positions);
    free(decider->transactional_id);
    free(decider);
}

void decider_set_consumer(struct decider *decider, struct kafka_consumer *consumer) { decider->consumer = consumer; }

bool decider_ready(const struct decider *decider) { return decider->stage >= STAGE_IDLE; }

bool decider_busy(const struct decider *decider) {
    return decider->stage == STAGE_STARTING || decider->stage == STAGE_COMMITTING;
}

bool decider_committing(const struct decider *decider) { return decider->stage >= STAGE_OPEN; }

bool decider_failing(const struct decider *decider) { return decider->failures >= FAILING; }

size_t decider_queued(const struct decider *decider) { return decider->queue.count; }

/* ---- the producer ---- */

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
        .context = decider,
        .on_delivered = delivered,
    };
    decider->code = kafka_producer_new(&options, &decider->producer, &decider->reason);
    if (decider->code) {
        log_error(decider->options.log, "no producer for transactions", LOG_TEXT("reason", decider->reason.text));
        producer_drop(decider);
        return;
    }
    decider->stage = STAGE_STARTING;
    worker_run(decider->worker, init_work, init_done, decider);
}

/* ---- partitions come and go ---- */

/* False: it is no partition of a topic of commands. */
static bool place_of(const struct decider *decider, const struct topic *topic, int32_t partition, size_t *place) {
    if (partition < 0 || partition >= decider->options.partitions) return false;
    for (size_t i = 0; i < decider->options.command_count; i++) {
        if (decider->options.commands[i] != topic) continue;
        *place = i * (size_t)decider->options.partitions + (size_t)partition;
        return true;
    }
    return false;
}

int64_t decider_handled(const struct decider *decider, const struct topic *topic, int32_t partition) {
    size_t place;
    return place_of(decider, topic, partition, &place) ? decider->handled[place] : -1;
}

void decider_begin(struct decider *decider, const struct topic *topic, int32_t partition, int64_t offset) {
    size_t place;
    if (!place_of(decider, topic, partition, &place)) return;
    decider->courses[place].expected = offset;
    decider->handled[place] = offset;
    waiters_handled(decider->waiters, decider->handled);
}

static void overlays_tell(struct decider *decider) {
    size_t count = 0;
    for (size_t i = 0; i < decider->options.state_count; i++) count += overlay_count(decider->written[i].overlay);
    decider->options.metrics.overlay->value = (double)count;
}

static void overlays_clear(struct decider *decider) {
    for (size_t i = 0; i < decider->options.state_count; i++) {
        overlay_clear(decider->written[i].overlay);
        memset(decider->written[i].read, 0, (size_t)decider->options.partitions * sizeof(int64_t));
    }
    overlays_tell(decider);
}

static void overlays_commit(struct decider *decider) {
    for (size_t i = 0; i < decider->options.state_count; i++) {
        struct written *written = &decider->written[i];
        overlay_commit(written->overlay, written->ends);
        for (int32_t p = 0; p < decider->options.partitions; p++)
            overlay_read_back(written->overlay, p, written->read[p]);
    }
    overlays_tell(decider);
}

static void queue_tell(struct decider *decider) {
    decider->options.metrics.queued->value = (double)decider->queue.count;
}

static void forget(struct decider *decider) {
    queue_clear(&decider->queue);
    queue_tell(decider);
    overlays_clear(decider);
    courses_forget(decider);
}

void decider_revoke(struct decider *decider) {
    decider->revoked = true;
    forget(decider);
    if (decider->stage == STAGE_OPEN) {
        // The broker would refuse its offsets after the next assignment; until then they need not be waited for.
        decider->code = error_set(&decider->reason, -ESTALE, "the group has taken the partitions away");
        commit(decider);
    }
}

void decider_lost(struct decider *decider, int32_t partition) {
    for (size_t i = 0; i < decider->options.command_count; i++)
        waiters_fail(decider->waiters, i * (size_t)decider->options.partitions + (size_t)partition, -ESTALE);
}

void decider_stop(struct decider *decider) {
    decider->stopped = true;
    queue_clear(&decider->queue);
    queue_tell(decider);
    if (decider->stage == STAGE_OPEN) commit(decider);
}

void decider_read_back(struct decider *decider, const struct topic *topic, int32_t partition, int64_t next) {
    struct written *written = written_of(decider, topic);
    if (!written || partition < 0 || partition >= decider->options.partitions) return;
    written->read[partition] = next;
    overlay_read_back(written->overlay, partition, next);
    overlays_tell(decider);
}

void decider_take(struct decider *decider, const struct kafka_record *record) {
    struct queued_command queued = {
        .topic = record->topic, .partition = record->partition, .offset = record->offset, .dead = NULL};
    struct error error = {.text = ""};
    if (!place_of(decider, record->topic, record->partition, &queued.place)) return;
    struct course *course = &decider->courses[queued.place];
    if (course->expected < 0 || record->offset < course->expected) return;
    course->expected = record->offset + 1;
    if (decider->options.read(decider->options.context, record, queue_reserve(&decider->queue), &error))
        queued.dead = queue_dead_new(record, error.text);
    queue_add(&decider->queue, &queued);
}

/* ---- what a transaction holds ---- */

int decider_write(struct decider *decider, const struct topic *topic, int32_t partition, const void *key,
                  size_t key_size, const void *value, size_t value_size) {
    return kafka_producer_send(decider->producer, topic, partition, key, key_size, value, value_size, NULL);
}

struct overlay *decider_overlay(struct decider *decider, const struct topic *topic) {
    struct written *written = written_of(decider, topic);
    return written ? written->overlay : NULL;
}

static void position_put(struct decider *decider, const struct queued_command *queued) {
    struct course *course = &decider->courses[queued->place];
    if (!course->position) course->position = ++decider->position_count;
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
    int code = 0;
    for (size_t i = 0; offsets && !code && i < decider->position_count; i++) {
        const struct kafka_position *position = &decider->positions[i];
        uint8_t value[COMMAND_OFFSET_BYTES];
        size_t size = command_offset_put(value, position->offset);
        const char *name = position->topic->name;
        code = decider_write(decider, offsets, position->partition, name, strlen(name), value, size);
    }
    return code ? error_set(error, code, "an offset could not be written: %s", strerror(-code)) : 0;
}

static int bury(struct decider *decider, const struct dead_command *dead, struct error *error) {
    decider->options.metrics.dead->value++;
    int code = kafka_producer_send_dead(decider->producer, &dead->record, dead->reason);
    return code ? error_set(error, code, "a dead letter could not be written: %s", strerror(-code)) : 0;
}

/* One slice of the queue into the transaction. */
static int fill(struct decider *decider, struct error *error) {
    struct decider_queue *queue = &decider->queue;
    size_t room = decider->options.batch - decider->taken, count = 0, taken = 0;
    int code = 0;
    for (; !code && taken < queue->count && taken < room && taken < SLICE; taken++) {
        const struct queued_command *queued = queue_at(queue, taken);
        if (queued->dead)
            code = bury(decider, queued->dead, error);
        else
            decider->slice[count++] = (struct decider_command){.topic = queued->topic,
                                                               .partition = queued->partition,
                                                               .offset = queued->offset,
                                                               .item = queue_item(queue, taken)};
        position_put(decider, queued);
    }
    if (!code && count) code = decider->options.decide(decider->options.context, decider->slice, count, error);
    queue_drop(queue, taken);
    queue_tell(decider);
    overlays_tell(decider);
    decider->taken += taken;
    return code;
}

/* ---- transactions ---- */

static void commit_work(void *context) {
    struct decider *decider = context;
    if (!decider->code)
        decider->code = kafka_transaction_commit(decider->producer, decider->positions, decider->position_count,
                                                 COMMIT_TIMEOUT_MS, &decider->reason);
    bool given_up = decider->code == -EAGAIN || decider->code == -ESTALE;
    // Whose abort fails too is replaced: a new producer of the same id ends what it left.
    if (given_up && kafka_transaction_abort(decider->producer, COMMIT_TIMEOUT_MS, NULL)) decider->code = -EIO;
}

static void committed(struct decider *decider) {
    decider->failures = 0;
    decider->options.metrics.transactions->value++;
    decider->options.metrics.commands->value += (double)decider->taken;
    if (decider->revoked) {
        // Other state may have been written since by another owner: nothing of this is to be relied on.
        overlays_clear(decider);
    } else {
        overlays_commit(decider);
        for (size_t place = 0; place < decider->places; place++) {
            size_t position = decider->courses[place].position;
            if (position) decider->handled[place] = decider->positions[position - 1].offset;
        }
        waiters_handled(decider->waiters, decider->handled);
    }
    decider->options.on_handled(decider->options.context);
    decider_run(decider);
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
    if (!decider->code) {
        committed(decider);
        return;
    }
    note_failure(decider);
    if (revoked)
        overlays_clear(decider);
    else
        forget(decider);
    if (decider->code != -EAGAIN && decider->code != -ESTALE) producer_drop(decider);
    // A stale member is told by the group what it owns; until then nothing of it may be asked for.
    decider->options.on_reset(decider->options.context);
}

static void commit(struct decider *decider) {
    loop_timer_stop(decider->turn);
    if (!decider->code && write_offsets(decider, &decider->reason)) decider->code = -EAGAIN;
    decider->stage = STAGE_COMMITTING;
    worker_run(decider->worker, commit_work, commit_done, decider);
}

/* False: not yet; the timer calls again. */
static bool open_transaction(struct decider *decider) {
    int64_t now_us = clock_monotonic_us(), pause_us = decider->pause_us - now_us;
    if (pause_us > 0) {
        loop_timer_again(decider->turn, (uint64_t)pause_us / 1000 + 1, 0);
        return false;
    }
    positions_clear(decider);
    decider->taken = 0;
    decider->revoked = false;
    decider->opened_us = now_us;
    decider->code = kafka_transaction_begin(decider->producer, decider->consumer, &decider->reason);
    decider->stage = STAGE_OPEN;
    return true;
}

void decider_run(struct decider *decider) {
    if (decider->stopped || !decider->consumer) return;
    if (decider->stage == STAGE_IDLE && (!decider->queue.count || !open_transaction(decider))) return;
    if (decider->stage != STAGE_OPEN) return;
    if (!decider->code) decider->code = fill(decider, &decider->reason);
    // What could not be put into the transaction, whatever it was, is given up with it.
    if (decider->code) decider->code = -EAGAIN;
    size_t left = decider->queue.count;
    int64_t left_ms = (left ? FULL_MS : HOLD_MS) - (clock_monotonic_us() - decider->opened_us) / 1000;
    bool full = decider->taken >= decider->options.batch || left_ms <= 0;
    if (decider->code || full || (!left && decider->taken < MANY))
        commit(decider);
    else
        loop_timer_again(decider->turn, left ? 0 : (uint64_t)left_ms, 0);
}

static void run_on(void *context) { decider_run(context); }

/* ---- those who wait ---- */

int decider_await(struct decider *decider, const struct topic *topic, int32_t partition, int64_t offset,
                  int64_t deadline_us, void *context, void (*done)(void *context, int code)) {
    size_t place;
    if (!place_of(decider, topic, partition, &place)) return -EINVAL;
    if (decider->handled[place] > offset) {
        done(context, 0);
        return 0;
    }
    return waiters_add(decider->waiters, place, offset, deadline_us, context, done);
}

void decider_await_cancel(struct decider *decider, const void *context) { waiters_cancel(decider->waiters, context); }
