/* Records of states become rows of the stores, and lead to effects; and what is done for the stores meanwhile. */
#include <errno.h>

#include "base/clock.h"
#include "decider/decider.h"
#include "tasks/tasks_private.h"

enum { TOUCH_S = 60, NEARLY = 10000 /* records: what is left is read in less than a second */ };

/* ---- records ---- */

static const struct task_state *state_of(const struct tasks *tasks, const struct topic *topic) {
    const struct task_state *state = tasks->states;
    while (state->topic->topic != topic) state++;
    return state;
}

void tasks_bury(struct tasks *tasks, const struct kafka_record *record, const char *reason) {
    if (tasks->undecodable) tasks->undecodable->value++;
    int code = kafka_producer_send_dead(tasks->dead_letters, record, reason);
    log_warn(tasks->log, code ? "a record cannot be read" : "a record cannot be read and went to the dead letters",
             LOG_TEXT("topic", record->topic->name), LOG_INT("partition", record->partition),
             LOG_INT("offset", record->offset), LOG_TEXT("reason", reason));
}

static void take(struct tasks *tasks, const struct kafka_record *record) {
    const struct task_state *state = state_of(tasks, record->topic);
    const char *reason = NULL;
    struct error error;
    if (!state->kind->in_memory &&
        (tasks->tasks[record->partition].damaged || record->offset < tasks_next(state, record->partition)))
        return;
    if (state->topic->sees) state->topic->sees(tasks->context, record);
    int code = state->kind->take(state->store, state->number, record, &reason, &error);
    if (code)
        tasks_store_failed(tasks, record->partition, code, &error);
    else if (reason)
        tasks_bury(tasks, record, reason);
}

/* A value that one of these records' partitions has on the disk is damaged, or one of any partition: nobody knows which. */
static void damaged_somewhere(struct tasks *tasks, const struct kafka_record *records, size_t count,
                              const struct error *error) {
    for (size_t i = 0; i < count; i++) tasks_damaged(tasks, records[i].partition, -EBADMSG, error);
    for (int32_t p = 0; !count && p < tasks->partitions; p++) tasks_damaged(tasks, p, -EBADMSG, error);
}

static void write_all(struct tasks *tasks, const struct kafka_record *records, size_t count) {
    struct error error;
    for (size_t s = 0; !tasks->failed && s < tasks->product->store_count; s++) {
        const struct state_kind *kind = tasks_kind(tasks, s);
        int code = kind->write ? kind->write(tasks->stores[s], &error) : 0;
        if (code == -EBADMSG)
            damaged_somewhere(tasks, records, count, &error);
        else if (code)
            tasks_fail(tasks, "the store failed", &error);
    }
}

/* ---- effects ---- */

static void carry_out(struct tasks *tasks, const struct kafka_record *record) {
    const struct task_state *state = state_of(tasks, record->topic);
    size_t number = (size_t)(state - tasks->states);
    struct error error;
    if (!state->topic->effect || record->offset < task_effects_next(tasks->effects, number, record->partition)) return;
    if (tasks->product->blocked && !tasks->put_off) tasks->put_off = tasks->product->blocked(tasks->context);
    if (tasks->put_off || !task_effects_due(tasks->effects, number, record->partition, record->offset)) return;
    int code = state->topic->effect(tasks->context, record, &error);
    if (code == -EAGAIN) {
        task_effects_undo(tasks->effects, number, record->partition, record->offset);
        tasks->put_off = true;
    } else if (code)
        tasks_store_failed(tasks, record->partition, code, &error);
}

/* Records whose effects are not carried out yet are read once more, if they were read. */
void tasks_carry_on(struct tasks *tasks, int32_t partition) {
    for (size_t s = 0; s < tasks->with_effects; s++) {
        if (!tasks->states[s].topic->effect) continue;
        int64_t next = task_effects_next(tasks->effects, s, partition);
        if (next < owner_position(tasks->owner, s, partition)) tasks_read_from(tasks, s, partition, next);
    }
}

void tasks_repeat(struct tasks *tasks, const struct topic *topic, int32_t partition, int64_t offset) {
    size_t number = (size_t)(state_of(tasks, topic) - tasks->states);
    int64_t next = task_effects_next(tasks->effects, number, partition);
    if (next == INT64_MAX || next <= offset) return;
    task_effects_undo(tasks->effects, number, partition, offset);
    tasks_carry_on(tasks, partition);
}

int64_t tasks_position(const struct tasks *tasks, const struct topic *topic, int32_t partition) {
    return owner_position(tasks->owner, (size_t)(state_of(tasks, topic) - tasks->states), partition);
}

void tasks_effects_lost(struct tasks *tasks) {
    if (!tasks->owner) return;
    owner_effects_lost(tasks->owner);
    task_effects_rewind(tasks->effects);
    for (int32_t p = 0; p < tasks->partitions; p++) {
        if (tasks->product->drop && tasks->tasks[p].running) tasks->product->drop(tasks->context, p);
        tasks_carry_on(tasks, p);
    }
}

void tasks_note(struct tasks *tasks) {
    for (size_t s = 0; s < tasks->with_effects; s++) {
        const struct tasks_topic *topic = tasks->states[s].topic;
        for (int32_t p = 0; p < tasks->partitions; p++) {
            if (task_effects_next(tasks->effects, s, p) == INT64_MAX) continue;
            if (!tasks->put_off) task_effects_pass(tasks->effects, s, p, owner_position(tasks->owner, s, p));
            if (topic->held) task_effects_hold(tasks->effects, s, p, topic->held(tasks->context, p));
        }
    }
    task_effects_note(tasks->effects);
}

void tasks_commit(struct tasks *tasks, bool again) {
    const struct kafka_position *positions;
    size_t count = tasks->failed ? 0 : task_effects_settled(tasks->effects, again, &positions);
    if (count) owner_commit(tasks->owner, positions, count);
}

/* ---- a batch ---- */

static bool last_of_topic(const struct kafka_record *records, size_t count, size_t i) {
    return i + 1 == count || records[i + 1].partition != records[i].partition ||
           records[i + 1].topic != records[i].topic;
}

static void read_back(struct tasks *tasks, const struct kafka_record *record) {
    const struct task_state *state = state_of(tasks, record->topic);
    int64_t next = tasks->decider && state->kind->next ? tasks_next(state, record->partition) : -1;
    if (next >= 0) decider_read_back(tasks->decider, record->topic, record->partition, next);
}

/* Everything is stored before any of it has effects. The decider hears of a record when it can be found in the store. */
void tasks_take(void *context, const struct kafka_record *records, size_t count) {
    struct tasks *tasks = context;
    bool changed = false;
    for (size_t i = 0; i < count && !tasks->failed; i++) take(tasks, &records[i]);
    write_all(tasks, records, count);
    if (tasks->product->stored) tasks->product->stored(tasks->context);
    for (size_t i = 0; i < count && !tasks->failed; i++) {
        const struct task *task = &tasks->tasks[records[i].partition];
        if (!task->damaged) carry_out(tasks, &records[i]);
    }
    for (size_t i = 0; i < count && !tasks->failed; i++) {
        const struct task *task = &tasks->tasks[records[i].partition];
        if (task->damaged || !last_of_topic(records, count, i)) continue;
        changed = changed || (task->running && !state_of(tasks, records[i].topic)->kind->in_memory);
        read_back(tasks, &records[i]);
    }
    if (changed && tasks->product->changed) tasks->product->changed(tasks->context);
    tasks_build(tasks);
}

/* ---- stores that are built when all is read ---- */

int64_t tasks_unbuilt(const struct tasks *tasks, int32_t partition) {
    int64_t unbuilt = 0;
    for (size_t s = 0; s < tasks->product->store_count; s++)
        if (tasks_kind(tasks, s)->unbuilt) unbuilt += tasks_kind(tasks, s)->unbuilt(tasks->stores[s], partition);
    return unbuilt;
}

static void build_work(void *context) {
    struct task_build *building = context;
    const struct state_kind *kind = tasks_kind(building->tasks, building->store);
    building->code = kind->build_run(building->build, &building->error);
}

static void build_done(void *context) {
    struct task_build *building = context;
    struct tasks *tasks = building->tasks;
    void *build = building->build;
    building->build = NULL;
    int code = tasks_kind(tasks, building->store)
                   ->build_end(tasks->stores[building->store], building->partition, build, building->code,
                               clock_wall_ms(), &building->error);
    if (code) tasks_store_failed(tasks, building->partition, code, &building->error);
    tasks_build(tasks); // the next one
    owner_progress(tasks->owner);
}

/* Up to the ends for which the owner has asked, or nearly to the end if it has not. */
static bool read_through(const struct tasks *tasks, size_t store, int32_t partition) {
    const int64_t *ends = owner_ends(tasks->owner, partition);
    bool all = true;
    for (size_t s = 0; all && s < tasks->state_count; s++) {
        if (tasks->states[s].topic->store != store) continue;
        int64_t lag = owner_state_lag(tasks->owner, s, partition);
        all = ends ? owner_reached(tasks->owner, s, partition, ends[s]) : lag >= 0 && lag < NEARLY;
    }
    return all;
}

static void build_one(struct tasks *tasks, size_t store, int32_t partition) {
    struct task_build *building = &tasks->building;
    const struct state_kind *kind = tasks_kind(tasks, store);
    const struct task *task = &tasks->tasks[partition];
    struct error error;
    if (!kind->unbuilt || building->build || !task->open || task->running || task->damaged) return;
    if (!kind->unbuilt(tasks->stores[store], partition) || !read_through(tasks, store, partition)) return;
    int code = kind->build_begin(tasks->stores[store], partition, clock_wall_ms(), &building->build, &error);
    if (code) tasks_store_failed(tasks, partition, code, &error);
    if (code || !building->build) return;
    building->store = store;
    building->partition = partition;
    loop_work(tasks->loop, build_work, build_done, building);
}

void tasks_build(struct tasks *tasks) {
    for (int32_t p = 0; !tasks->stopped && !tasks->failed && p < tasks->partitions; p++)
        for (size_t s = 0; s < tasks->product->store_count; s++) build_one(tasks, s, p);
}

/* ---- once a second ---- */

bool tasks_current(const struct tasks *tasks, int32_t partition) {
    const struct task *task = &tasks->tasks[partition];
    bool all = task->open && !task->damaged;
    if (!all || task->running) return all;
    all = !tasks_unbuilt(tasks, partition);
    for (size_t s = 0; all && s < tasks->state_count; s++)
        all = tasks->states[s].kind->in_memory || owner_state_lag(tasks->owner, s, partition) == 0;
    return all;
}

static int keep(struct tasks *tasks, int32_t partition, int64_t now_ms, struct error *error) {
    bool touch = (now_ms / 1000 + partition) % TOUCH_S == 0;
    int code = touch && tasks->ages ? ages_touch(tasks->ages, partition, now_ms, false, error) : 0;
    for (size_t s = 0; !code && s < tasks->product->store_count; s++) {
        const struct state_kind *kind = tasks_kind(tasks, s);
        if (kind->keep) code = kind->keep(tasks->stores[s], partition, now_ms, error);
        if (!code && touch && kind->touch) code = kind->touch(tasks->stores[s], partition, now_ms, error);
    }
    return code;
}

void tasks_keep(struct tasks *tasks) {
    int64_t now = clock_wall_ms();
    struct error error;
    for (int32_t p = 0; p < tasks->partitions; p++) {
        int code = !tasks->failed && tasks_current(tasks, p) ? keep(tasks, p, now, &error) : 0;
        if (code) tasks_store_failed(tasks, p, code, &error);
    }
    write_all(tasks, NULL, 0);
}
