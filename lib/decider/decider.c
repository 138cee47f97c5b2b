#include "decider/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { WAITERS_DEFAULT = 10000 };

/* ---- metrics ---- */

struct decider_metrics decider_metrics_of(struct metrics *m, const char *prefix) {
    return (struct decider_metrics){
        .commands = metrics_prefixed(m, metrics_counter, prefix, "commands_total",
                                     "Commands decided, dead letters included.", NULL),
        .queued = metrics_prefixed(m, metrics_gauge, prefix, "commands_queued",
                                   "Commands read whose outcome is not committed yet.", NULL),
        .overlay = metrics_prefixed(m, metrics_gauge, prefix, "overlay_entries",
                                    "State that was written and is not read back.", NULL),
        .transactions =
            metrics_prefixed(m, metrics_counter, prefix, "transactions_total", "Transactions committed.", NULL),
        .failed = metrics_prefixed(m, metrics_counter, prefix, "transactions_failed_total",
                                   "Transactions not committed.", NULL),
        .dead =
            metrics_prefixed(m, metrics_counter, prefix, "commands_dead_total", "Records that were no command.", NULL),
    };
}

/* ---- beginning and end ---- */

struct written *decider_written(const struct decider *decider, const struct topic *topic) {
    for (size_t i = 0; i < decider->options.state_count; i++)
        if (decider->options.states[i].topic == topic) return &decider->written[i];
    return NULL;
}

static void run_on(void *context) { decider_run(context); }

static void courses_forget(struct decider *decider) {
    for (size_t place = 0; place < decider->places; place++) {
        decider->courses[place].expected = decider->courses[place].committed = -1;
        decider->courses[place].queued = 0;
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
        .timer = loop_timer_new(options->loop, 1, 0, decider_start, decider),
        .turn = loop_timer_new(options->loop, 0, 0, run_on, decider),
        .waiters = waiters_new(options->loop, options->waiters ? options->waiters : WAITERS_DEFAULT),
        .stage = STAGE_DOWN,
        .queue = queue_new(options->item_size, options->release),
        .courses = mem_zero(places, sizeof *decider->courses),
        .handled = mem_zero(places, sizeof *decider->handled),
        .places = places,
        .pacing = pacing_new(options->batch),
        .refused_s =
            options->registry
                ? metrics_gauge(
                      options->registry, "starling_command_refused_time_seconds",
                      "When a command was last refused, as a topic does not take what it would change, since the Unix epoch.",
                      NULL)
                : NULL,
        .written = mem_zero(options->state_count, sizeof *decider->written),
        .positions = mem_zero(places, sizeof *decider->positions),
        .commits = mem_zero(places, sizeof *decider->commits),
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
    free(decider->commits);
    free(decider->transactional_id);
    free(decider);
}

void decider_set_consumer(struct decider *decider, struct kafka_consumer *consumer) { decider->consumer = consumer; }

bool decider_ready(const struct decider *decider) { return decider->stage >= STAGE_IDLE; }

bool decider_busy(const struct decider *decider) {
    return decider->stage == STAGE_STARTING || decider->stage == STAGE_COMMITTING;
}

bool decider_committing(const struct decider *decider) {
    return decider->stage >= STAGE_OPEN && !decider_is_quiet(decider);
}

size_t decider_queued(const struct decider *decider) { return decider->queue.count; }

size_t decider_queued_bytes(const struct decider *decider) { return decider->queue.bytes; }

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

int64_t decider_next(const struct decider *decider, const struct topic *topic, int32_t partition) {
    size_t place;
    return place_of(decider, topic, partition, &place) ? decider->courses[place].expected : -1;
}

int64_t decider_committed(const struct decider *decider, const struct topic *topic, int32_t partition) {
    size_t place;
    return place_of(decider, topic, partition, &place) ? decider->courses[place].committed : -1;
}

int64_t decider_topic_end(const struct decider *decider, const struct topic *topic, int32_t partition) {
    size_t place;
    bool begun = place_of(decider, topic, partition, &place) && decider->courses[place].expected >= 0;
    return begun ? decider->courses[place].end : -1;
}

void decider_begin(struct decider *decider, const struct topic *topic, int32_t partition, int64_t offset, int64_t end) {
    size_t place;
    if (!place_of(decider, topic, partition, &place)) return;
    struct course *course = &decider->courses[place];
    course->expected = course->decided = course->committed = offset;
    course->end = end;
    decider->handled[place] = offset;
    waiters_handled(decider->waiters, decider->handled);
}

void decider_overlays_tell(struct decider *decider) {
    size_t count = 0;
    for (size_t i = 0; i < decider->options.state_count; i++) count += overlay_count(decider->written[i].overlay);
    decider->options.metrics.overlay->value = (double)count;
}

void decider_overlays_clear(struct decider *decider) {
    for (size_t i = 0; i < decider->options.state_count; i++) {
        overlay_clear(decider->written[i].overlay);
        memset(decider->written[i].read, 0, (size_t)decider->options.partitions * sizeof(int64_t));
    }
    decider_overlays_tell(decider);
}

void decider_overlays_commit(struct decider *decider) {
    for (size_t i = 0; i < decider->options.state_count; i++) {
        struct written *written = &decider->written[i];
        overlay_commit(written->overlay, written->ends);
        for (int32_t p = 0; p < decider->options.partitions; p++)
            overlay_read_back(written->overlay, p, written->read[p]);
    }
    decider_overlays_tell(decider);
}

void decider_queue_tell(struct decider *decider) {
    size_t waiting = decider->queue.count + (decider->stage >= STAGE_OPEN ? decider->taken : 0);
    decider->options.metrics.queued->value = (double)(waiting > decider->again ? waiting : decider->again);
}

void decider_forget(struct decider *decider) {
    queue_clear(&decider->queue);
    decider_queue_tell(decider);
    decider_overlays_clear(decider);
    courses_forget(decider);
    if (decider->options.on_forget) decider->options.on_forget(decider->options.context);
}

void decider_revoke(struct decider *decider) {
    decider->revoked = true;
    decider->again = 0; // perhaps another process decides them
    decider_forget(decider);
    if (decider->stage == STAGE_OPEN) {
        // The broker would refuse its offsets after the next assignment; until then they need not be waited for.
        decider->code = error_set(&decider->reason, -ESTALE, "the group has taken the partitions away");
        decider_commit(decider);
    }
}

void decider_lost(struct decider *decider, int32_t partition) {
    for (size_t i = 0; i < decider->options.command_count; i++)
        waiters_fail(decider->waiters, i * (size_t)decider->options.partitions + (size_t)partition, -1, -ESTALE);
}

void decider_stop(struct decider *decider) {
    decider->stopped = true;
    queue_clear(&decider->queue);
    decider_queue_tell(decider);
    if (decider->stage == STAGE_OPEN) decider_commit(decider);
}

void decider_read_back(struct decider *decider, const struct topic *topic, int32_t partition, int64_t next) {
    struct written *written = decider_written(decider, topic);
    if (!written || partition < 0 || partition >= decider->options.partitions) return;
    written->read[partition] = next;
    overlay_read_back(written->overlay, partition, next);
    decider_overlays_tell(decider);
}

int64_t decider_end(const struct decider *decider, const struct topic *topic, int32_t partition) {
    const struct written *written = decider_written(decider, topic);
    return written ? written->ends[partition] : -1;
}

static bool refuses(const struct decider *decider, size_t place, int64_t offset) {
    for (size_t i = 0; i < decider->refused_count && i < REFUSED_MAX; i++)
        if (decider->refused[i].place == place && decider->refused[i].offset == offset) return true;
    return false;
}

void decider_take(struct decider *decider, const struct kafka_record *record) {
    struct queued_command queued = {.topic = record->topic,
                                    .partition = record->partition,
                                    .offset = record->offset,
                                    .size = record->key_size + record->value_size,
                                    .dead = NULL};
    struct error error = {.text = ""};
    if (!place_of(decider, record->topic, record->partition, &queued.place)) return;
    struct course *course = &decider->courses[queued.place];
    if (course->expected < 0 || record->offset < course->expected) return;
    course->expected = record->offset + 1;
    if (decider->options.wanted && !decider->options.wanted(decider->options.context, record)) return;
    course->queued++;
    void *item = queue_reserve(&decider->queue);
    int code = refuses(decider, queued.place, queued.offset)
                   ? error_set(&error, -EMSGSIZE, "what it would change is a record larger than its topic takes")
                   : decider->options.read(decider->options.context, record, item, &error);
    if (code) queued.dead = queue_dead_new(record, error.text);
    queue_add(&decider->queue, &queued);
    tracer_park(decider_tracer(decider), decider, decider_trace_number(&queued));
}

struct overlay *decider_overlay(struct decider *decider, const struct topic *topic) {
    struct written *written = decider_written(decider, topic);
    return written ? written->overlay : NULL;
}

/* ---- those who wait ---- */

int decider_await(struct decider *decider, const struct topic *topic, int32_t partition, int64_t offset,
                  int64_t deadline_us, void *context, void (*done)(void *context, int code)) {
    size_t place;
    if (!place_of(decider, topic, partition, &place)) return -EINVAL;
    if (decider->handled[place] > offset) {
        done(context, refuses(decider, place, offset) ? -EMSGSIZE : 0);
        return 0;
    }
    return waiters_add(decider->waiters, place, offset, deadline_us, context, done);
}
