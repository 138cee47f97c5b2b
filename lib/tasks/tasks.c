#include "tasks/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tasks/tasks_private.h"

enum { RECOMMIT_S = 10 };

void tasks_fail(struct tasks *tasks, const char *doing, const struct error *error) {
    if (tasks->failed) return;
    tasks->failed = true;
    tasks->product->failed(tasks->context, doing, error);
}

void tasks_read_from(struct tasks *tasks, size_t state, int32_t partition, int64_t offset) {
    struct error error;
    if (owner_read_again(tasks->owner, state, partition, offset, &error))
        tasks_fail(tasks, "state cannot be read again", &error);
}

/* ---- tasks come and go ---- */

static int open_store(struct tasks *tasks, size_t store, int32_t partition, struct error *error) {
    const struct state_kind *kind = tasks_kind(tasks, store);
    int64_t now = clock_wall_ms();
    return kind->open ? kind->open(tasks->stores[store], partition, now, now - tasks->max_age_ms, error) : 0;
}

static void close_store(struct tasks *tasks, size_t store, int32_t partition) {
    const struct state_kind *kind = tasks_kind(tasks, store);
    if (kind->close) kind->close(tasks->stores[store], partition);
}

/* Stores without an age of their own were up to date when the partition was. */
static int check_age(struct tasks *tasks, int32_t partition, struct error *error) {
    int64_t now = clock_wall_ms();
    int old = ages_too_old(tasks->ages, partition, now - tasks->max_age_ms, error), code = old < 0 ? old : 0;
    if (old > 0)
        log_info(tasks->log, "state is read anew: it is too old to go on with", LOG_INT("partition", partition));
    for (size_t s = 0; old > 0 && !code && s < tasks->product->store_count; s++) {
        const struct state_kind *kind = tasks_kind(tasks, s);
        if (kind->reset && !kind->from_effects && !kind->touch)
            code = kind->reset(tasks->stores[s], partition, now, error);
    }
    return code ? code : ages_touch(tasks->ages, partition, now, !old, error);
}

/* A stand-by of a store that lacks nothing when it is empty begins with what is to come. */
static int64_t go_on_at(const struct task_state *state, int32_t partition) {
    int64_t next = state->kind->in_memory ? -1 : tasks_next(state, partition);
    if (next >= 0) return next;
    return state->kind->from_effects ? KAFKA_OFFSET_END : KAFKA_OFFSET_BEGINNING;
}

static int open_task(void *context, int32_t partition, int64_t *from, struct error *error) {
    struct tasks *tasks = context;
    int code = 0;
    for (size_t s = 0; !code && s < tasks->product->store_count; s++) code = open_store(tasks, s, partition, error);
    if (!code && tasks->ages) code = check_age(tasks, partition, error);
    for (size_t s = 0; !code && s < tasks->state_count; s++) from[s] = go_on_at(&tasks->states[s], partition);
    if (!code) tasks->tasks[partition] = (struct task){.open = true};
    return code;
}

/* Where a state is read again from for effects that do not wait until the task runs; KAFKA_OFFSET_NONE: it goes on. */
static int64_t begin_at_once(struct tasks *tasks, size_t state, int32_t partition, bool fresh) {
    if (!tasks->states[state].topic->at_once) return KAFKA_OFFSET_NONE;
    int64_t from = task_effects_at_once(tasks->effects, state, partition);
    return !fresh && owner_position(tasks->owner, state, partition) > from ? from : KAFKA_OFFSET_NONE;
}

static void activate(void *context, int32_t partition, bool fresh, const int64_t *told, int64_t *again) {
    struct tasks *tasks = context;
    task_effects_told(tasks->effects, partition, told);
    tasks->tasks[partition].owned = true;
    for (size_t s = 0; s < tasks->state_count; s++) {
        const struct task_state *state = &tasks->states[s];
        again[s] = begin_at_once(tasks, s, partition, fresh);
        if (fresh && state->kind->from_effects && go_on_at(state, partition) == KAFKA_OFFSET_END)
            again[s] = told[s] >= 0 ? told[s] : KAFKA_OFFSET_BEGINNING;
    }
}

static void stop_effects(struct tasks *tasks, int32_t partition) {
    if (tasks->product->drop && tasks->tasks[partition].running) tasks->product->drop(tasks->context, partition);
    task_effects_stop(tasks->effects, partition);
}

/* A task that no longer runs forgets what it has in memory, which is read anew before it runs again. */
static void suspend(struct tasks *tasks, int32_t partition) {
    struct error error;
    int code = 0;
    bool ran = tasks->tasks[partition].running;
    stop_effects(tasks, partition);
    tasks->tasks[partition].running = false;
    for (size_t s = 0; !code && s < tasks->product->store_count; s++) {
        const struct state_kind *kind = tasks_kind(tasks, s);
        if (kind->in_memory && ran) {
            close_store(tasks, s, partition);
            code = open_store(tasks, s, partition, &error);
        } else if (!kind->in_memory && kind->live) {
            code = kind->live(tasks->stores[s], partition, false, &error);
        }
    }
    if (code) tasks_fail(tasks, "a store cannot be opened", &error);
    for (size_t s = 0; ran && s < tasks->state_count; s++)
        if (tasks->states[s].kind->in_memory) tasks_read_from(tasks, s, partition, KAFKA_OFFSET_BEGINNING);
}

static void stand_by(void *context, int32_t partition) {
    struct tasks *tasks = context;
    tasks->tasks[partition].owned = false;
    suspend(tasks, partition);
}

static bool reached(void *context, int32_t partition, const int64_t *ends) {
    struct tasks *tasks = context;
    bool running = tasks->tasks[partition].running, built = !tasks_unbuilt(tasks, partition), all = running || built;
    if (!running) task_effects_ends(tasks->effects, partition, ends);
    for (size_t s = 0; all && s < tasks->state_count; s++)
        all = (!tasks->states[s].kind->in_memory && tasks_next(&tasks->states[s], partition) >= ends[s]) ||
              (built && owner_reached(tasks->owner, s, partition, ends[s]));
    return all;
}

static int64_t unapplied(void *context, int32_t partition) { return tasks_unbuilt(context, partition); }

static void live(void *context, int32_t partition) {
    struct tasks *tasks = context;
    int64_t from[STAGES_TOPICS_MAX];
    struct error error;
    int code = 0;
    tasks->tasks[partition].running = true;
    for (size_t s = 0; !code && s < tasks->product->store_count; s++) {
        const struct state_kind *kind = tasks_kind(tasks, s);
        if (kind->live) code = kind->live(tasks->stores[s], partition, true, &error);
    }
    if (code) tasks_fail(tasks, "a partition cannot be served", &error);
    task_effects_begin(tasks->effects, partition, from);
    for (size_t s = 0; s < tasks->with_effects; s++) {
        int64_t next = owner_position(tasks->owner, s, partition);
        if (!tasks->states[s].topic->effect && next > from[s]) from[s] = next; // nothing is left to be carried out
    }
    task_effects_live(tasks->effects, partition, from);
    tasks_carry_on(tasks, partition);
    tasks_commit(tasks, false); // so that whoever takes over knows where effects began
}

/* ---- state that is read anew ---- */

static int reset_store(struct tasks *tasks, size_t store, int32_t partition, struct error *error) {
    const struct state_kind *kind = tasks_kind(tasks, store);
    return kind->reset ? kind->reset(tasks->stores[store], partition, clock_wall_ms(), error) : 0;
}

/* The task is to be restored once more. */
static void begin_again(struct tasks *tasks, int32_t partition) {
    suspend(tasks, partition);
    for (size_t s = 0; tasks->tasks[partition].owned && s < tasks->state_count; s++) {
        int64_t from = begin_at_once(tasks, s, partition, false);
        if (from != KAFKA_OFFSET_NONE) tasks_read_from(tasks, s, partition, from);
    }
}

/* Empties a store of the partition, and reads its topics from the beginning. but: this state is read anew already. */
static void empty(struct tasks *tasks, size_t store, int32_t partition, size_t but) {
    struct error error;
    int code = reset_store(tasks, store, partition, &error);
    if (code) tasks_fail(tasks, "state cannot be read anew", &error);
    for (size_t s = 0; !code && s < tasks->state_count; s++)
        if (s != but && tasks->states[s].topic->store == store && !tasks->states[s].kind->from_effects)
            tasks_read_from(tasks, s, partition, KAFKA_OFFSET_BEGINNING);
}

static bool lost(void *context, size_t number, int32_t partition) {
    struct tasks *tasks = context;
    const struct task_state *state = &tasks->states[number];
    log_warn(tasks->log, "state is read anew: its offset is not in the topic",
             LOG_TEXT("topic", state->topic->topic->name), LOG_INT("partition", partition));
    // The product finds out what is missing in a store in memory.
    if (state->kind->in_memory) return false;
    if (state->kind->lost && state->kind->lost(state->store, partition, state->number)) return false;
    begin_again(tasks, partition);
    empty(tasks, state->topic->store, partition, number);
    task_effects_anew(tasks->effects, number, partition);
    return true;
}

static void mend(void *context) {
    struct tasks *tasks = context;
    for (int32_t p = 0; p < tasks->partitions; p++) {
        struct task *task = &tasks->tasks[p];
        if (!task->damaged) continue;
        owner_restore_again(tasks->owner, p);
        begin_again(tasks, p);
        task->damaged = false;
        for (size_t s = 0; s < tasks->product->store_count; s++)
            if (tasks_kind(tasks, s)->reset) empty(tasks, s, p, SIZE_MAX);
    }
}

void tasks_damaged(struct tasks *tasks, int32_t partition, int code, const struct error *error) {
    struct task *task = &tasks->tasks[partition];
    if (code != -EBADMSG || !task->open || task->damaged) return;
    log_error(tasks->log, "state is read anew: a value is damaged on the disk", LOG_INT("partition", partition),
              LOG_TEXT("reason", error->text));
    task_effects_stop(tasks->effects, partition); // one of them may have failed
    task->damaged = true;
    tasks->damages->value++;
    loop_timer_again(tasks->turn, 0, 0);
}

void tasks_store_failed(struct tasks *tasks, int32_t partition, int code, const struct error *error) {
    tasks_damaged(tasks, partition, code, error);
    if (code != -EBADMSG) tasks_fail(tasks, "the store failed", error);
}

/* A partition that is given up before the turn that mends it must not be damaged when it comes back. */
static void close_task(void *context, int32_t partition) {
    struct tasks *tasks = context;
    struct error error;
    int code = 0;
    stop_effects(tasks, partition);
    for (size_t s = 0; !code && tasks->tasks[partition].damaged && s < tasks->product->store_count; s++)
        code = reset_store(tasks, s, partition, &error);
    if (code) tasks_fail(tasks, "a damaged partition cannot be emptied", &error);
    tasks->tasks[partition] = (struct task){.open = false};
    for (size_t s = 0; s < tasks->product->store_count; s++) close_store(tasks, s, partition);
}

/* ---- the owner's other callbacks ---- */

static void join(struct tasks *tasks) {
    struct error error;
    if (!tasks->prepared || !tasks->may_join || tasks->draining || owner_joined(tasks->owner)) return;
    if (owner_join(tasks->owner, &error)) tasks_fail(tasks, "the group cannot be joined", &error);
}

static void prepared(void *context) {
    struct tasks *tasks = context;
    tasks->prepared = true;
    if (tasks->product->prepared && !tasks->draining) tasks->product->prepared(tasks->context);
    join(tasks);
}

void tasks_may_join(struct tasks *tasks) {
    tasks->may_join = true;
    join(tasks);
}

static void flush_old(void *context, int64_t now_us) {
    struct tasks *tasks = context;
    tasks->product->flush_old(tasks->context, now_us);
}

static void flush(void *context) {
    struct tasks *tasks = context;
    tasks->product->flush(tasks->context);
    if (!tasks->failed) tasks_note(tasks);
}

/* Effects count as sent when none waits. */
static int64_t flush_ready(void *context, int64_t now_us) {
    struct tasks *tasks = context;
    int64_t left_ms = 0;
    if (tasks->product->flush_ready)
        left_ms = tasks->product->flush_ready(tasks->context, now_us);
    else
        tasks->product->flush(tasks->context);
    if (!left_ms && !tasks->failed) tasks_note(tasks);
    return left_ms;
}

static void settle(void *context) {
    struct tasks *tasks = context;
    if (tasks->product->settle) tasks->product->settle(tasks->context);
    flush(tasks);
}

static void idle(void *context) { tasks_build(context); }

static bool blocked(void *context) {
    struct tasks *tasks = context;
    const struct tasks_product *product = tasks->product;
    if (product->blocked && product->blocked(tasks->context)) return true;
    for (int32_t p = 0; tasks->put_off && p < tasks->partitions; p++) tasks_carry_on(tasks, p);
    tasks->put_off = false;
    return product->crowded && product->crowded(tasks->context);
}

static void input(void *context, size_t number, const struct kafka_record *record, bool owned, int64_t now_us) {
    struct tasks *tasks = context;
    tasks->product->input(tasks->context, number, record, owned, now_us);
}

static void lower(void *context, size_t number, int64_t *offsets) {
    struct tasks *tasks = context;
    if (tasks->product->lower) tasks->product->lower(tasks->context, number, offsets);
}

void tasks_second(struct tasks *tasks) {
    owner_second(tasks->owner);
    tasks_keep(tasks);
    tasks_build(tasks);
    blocked(tasks);                                                // effects may have waited for room
    tasks_commit(tasks, clock_wall_ms() / 1000 % RECOMMIT_S == 0); // a commit may have been lost
}

static bool works(void *context) {
    const struct tasks *tasks = context;
    return tasks->building.build || (tasks->product->busy && tasks->product->busy(tasks->context));
}

static void drained(void *context) {
    struct tasks *tasks = context;
    tasks->product->drained(tasks->context);
}

static void failed(void *context, const char *doing, const struct error *error) { tasks_fail(context, doing, error); }

static const struct owner_product OWNED = {
    .open = open_task,
    .close = close_task,
    .activate = activate,
    .stand_by = stand_by,
    .state = tasks_take,
    .state_idle = idle,
    .state_lost = lost,
    .reached = reached,
    .unapplied = unapplied,
    .live = live,
    .input = input,
    .flush_old = flush_old,
    .flush_ready = flush_ready,
    .flush = flush,
    .settle = settle,
    .lower = lower,
    .blocked = blocked,
    .prepared = prepared,
    .busy = works,
    .drained = drained,
    .failed = failed,
};

/* ---- beginning and end ---- */

struct owner *tasks_owner(struct tasks *tasks) {
    return tasks->owner;
}

int tasks_serves(const struct tasks *tasks, int32_t partition) {
    return partition < tasks->partitions ? owner_serves(tasks->owner, partition) : -ESTALE;
}

void tasks_decided(struct tasks *tasks) {
    if (tasks->owner) owner_progress(tasks->owner);
}

void tasks_commands_lost(struct tasks *tasks) {
    if (tasks->owner) owner_commands_lost(tasks->owner);
}

void tasks_drain(struct tasks *tasks) {
    tasks->draining = tasks->stopped = true;
    owner_drain(tasks->owner);
}

bool tasks_busy(struct tasks *tasks) {
    tasks->draining = tasks->stopped = true;
    owner_stop(tasks->owner);
    return owner_busy(tasks->owner) || works(tasks);
}

static void add_state(struct tasks *tasks, const struct tasks_topic *topic) {
    struct task_state *state = &tasks->states[tasks->state_count++];
    bool same = state != tasks->states && state[-1].topic->store == topic->store;
    *state = (struct task_state){.topic = topic,
                                 .kind = tasks_kind(tasks, topic->store),
                                 .store = tasks->stores[topic->store],
                                 .number = same ? state[-1].number + 1 : 0};
}

int tasks_start(struct tasks *tasks, const struct tasks_options *options, struct error *error) {
    const struct tasks_product *product = tasks->product;
    struct owner_topic *topics = mem_zero(product->topic_count, sizeof *topics);
    const struct topic *with_effects[STAGES_TOPICS_MAX];
    struct owner_options owner = *options->owner;
    memcpy(tasks->stores, options->stores, product->store_count * sizeof *options->stores);
    for (size_t t = 0; t < product->topic_count; t++) {
        topics[t] = (struct owner_topic){product->topics[t].topic, product->topics[t].role, product->topics[t].aged};
        if (topics[t].role == OWNER_STATE) add_state(tasks, &product->topics[t]);
        if (product->topics[t].effect || product->topics[t].shows_progress)
            with_effects[tasks->with_effects++] = topics[t].topic;
    }
    char *damages = mem_format("%s_damaged_total", owner.prefix);
    tasks->damages =
        metrics_counter(owner.metrics, damages, "Partitions whose state was damaged on the disk and read anew.", NULL);
    free(damages);
    tasks->decider = owner.decider;
    tasks->dead_letters = options->dead_letters;
    tasks->undecodable = options->undecodable;
    tasks->ages = options->ages;
    tasks->max_age_ms = options->max_age_ms;
    owner.topics = topics;
    owner.topic_count = product->topic_count;
    owner.product = &OWNED;
    owner.context = tasks;
    int code = owner_new(&owner, &tasks->owner, error);
    free(topics);
    if (code) return code;
    tasks->effects = task_effects_new(with_effects, tasks->with_effects, tasks->partitions, owner.epochs);
    return owner_start(tasks->owner, error);
}

struct tasks *tasks_new(uv_loop_t *loop, struct log *log, int32_t partitions, const struct tasks_product *product,
                        void *context) {
    struct tasks *tasks = mem_alloc(sizeof *tasks);
    *tasks = (struct tasks){
        .product = product,
        .context = context,
        .loop = loop,
        .log = log,
        .partitions = partitions,
        .tasks = mem_zero((size_t)partitions, sizeof *tasks->tasks),
        .building = {.tasks = tasks},
        .turn = loop_timer_new(loop, 0, 0, mend, tasks),
    };
    loop_timer_stop(tasks->turn);
    return tasks;
}

void tasks_free(struct tasks *tasks) {
    if (!tasks) return;
    owner_free(tasks->owner);
    task_effects_free(tasks->effects);
    loop_timer_free(tasks->turn);
    free(tasks->tasks);
    free(tasks);
}
