#include "tasks/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "decider/decider.h"

enum { TOUCH_S = 60 };

struct task {
    bool open, running;
    bool damaged; /* all of its state must be read anew */
};

/* A state, by the owner's number. */
struct task_state {
    const struct tasks_topic *topic;
    const struct state_kind *kind;
    void *store;
    size_t number; /* among the store's topics */
};

struct tasks {
    const struct tasks_product *product;
    void *context;
    struct log *log;
    int32_t partitions;
    struct owner *owner;
    struct decider *decider;
    struct kafka_producer *dead_letters;
    int64_t max_age_ms;
    struct task *tasks; /* by partition */
    struct task_state states[STAGES_TOPICS_MAX];
    size_t state_count;
    void *stores[STAGES_TOPICS_MAX]; /* as the product's kinds */
    struct loop_timer *turn;         /* reads damaged state anew */
    bool prepared, may_join, draining, failed;
};

void tasks_fail(struct tasks *tasks, const char *doing, const struct error *error) {
    if (tasks->failed) return;
    tasks->failed = true;
    tasks->product->failed(tasks->context, doing, error);
}

static const struct state_kind *kind_of(const struct tasks *tasks, size_t store) {
    return tasks->product->kinds[store];
}

static bool in_memory(const struct state_kind *kind) { return !kind->next; }

static int64_t next_of(const struct task_state *state, int32_t partition) {
    return state->kind->next(state->store, partition, state->number);
}

static void read_again(struct tasks *tasks, size_t state, int32_t partition) {
    struct error error;
    if (owner_read_again(tasks->owner, state, partition, KAFKA_OFFSET_BEGINNING, &error))
        tasks_fail(tasks, "state cannot be read anew", &error);
}

/* ---- tasks come and go ---- */

static int open_store(struct tasks *tasks, size_t store, int32_t partition, struct error *error) {
    int64_t now = clock_wall_ms();
    return kind_of(tasks, store)->open(tasks->stores[store], partition, now, now - tasks->max_age_ms, error);
}

static void close_store(struct tasks *tasks, size_t store, int32_t partition) {
    const struct state_kind *kind = kind_of(tasks, store);
    if (kind->close) kind->close(tasks->stores[store], partition);
}

static int attach(void *context, int32_t partition, int64_t *from, struct error *error) {
    struct tasks *tasks = context;
    int code = 0;
    for (size_t s = 0; !code && s < tasks->product->store_count; s++) code = open_store(tasks, s, partition, error);
    for (size_t s = 0; !code && s < tasks->state_count; s++) {
        const struct task_state *state = &tasks->states[s];
        int64_t next = in_memory(state->kind) ? -1 : next_of(state, partition);
        from[s] = next < 0 ? KAFKA_OFFSET_BEGINNING : next;
    }
    if (!code) tasks->tasks[partition] = (struct task){.open = true};
    return code;
}

static void detach(void *context, int32_t partition) {
    struct tasks *tasks = context;
    tasks->tasks[partition] = (struct task){.open = false};
    for (size_t s = 0; s < tasks->product->store_count; s++) close_store(tasks, s, partition);
}

/* A task that no longer runs forgets what it has in memory, which is read anew before it runs again. */
static void silence(void *context, int32_t partition) {
    struct tasks *tasks = context;
    struct error error;
    if (!tasks->tasks[partition].running) return;
    tasks->tasks[partition].running = false;
    for (size_t s = 0; s < tasks->product->store_count; s++) {
        if (!in_memory(kind_of(tasks, s))) continue;
        close_store(tasks, s, partition);
        if (open_store(tasks, s, partition, &error)) tasks_fail(tasks, "a store cannot be opened", &error);
    }
    for (size_t s = 0; s < tasks->state_count; s++)
        if (in_memory(tasks->states[s].kind)) read_again(tasks, s, partition);
}

static void own(void *context, int32_t partition, bool fresh, const int64_t *told, int64_t *again) {}

static bool reached(void *context, int32_t partition, const int64_t *ends) {
    struct tasks *tasks = context;
    bool all = true;
    for (size_t s = 0; all && s < tasks->state_count; s++)
        all = (!in_memory(tasks->states[s].kind) && next_of(&tasks->states[s], partition) >= ends[s]) ||
              owner_reached(tasks->owner, s, partition, ends[s]);
    return all;
}

static int64_t unapplied(void *context, int32_t partition) { return 0; }

static void live(void *context, int32_t partition) {
    struct tasks *tasks = context;
    tasks->tasks[partition].running = true;
    for (size_t s = 0; s < tasks->product->store_count; s++)
        if (kind_of(tasks, s)->live) kind_of(tasks, s)->live(tasks->stores[s], partition);
}

/* ---- state that is read anew ---- */

/* Empties a store of the partition, and reads its topics from the beginning. but: this state is read anew already. */
static void empty(struct tasks *tasks, size_t store, int32_t partition, size_t but) {
    struct error error;
    int code = kind_of(tasks, store)->reset(tasks->stores[store], partition, clock_wall_ms(), &error);
    if (code) tasks_fail(tasks, "state cannot be read anew", &error);
    for (size_t s = 0; !code && s < tasks->state_count; s++)
        if (s != but && tasks->states[s].topic->store == store) read_again(tasks, s, partition);
}

static bool lost(void *context, size_t number, int32_t partition) {
    struct tasks *tasks = context;
    const struct task_state *state = &tasks->states[number];
    // What is missing in a store in memory is for the product to find out.
    if (in_memory(state->kind)) return false;
    if (state->kind->lost && state->kind->lost(state->store, partition, state->number)) return false;
    silence(tasks, partition);
    empty(tasks, state->topic->store, partition, number);
    return true;
}

static void mend(void *context) {
    struct tasks *tasks = context;
    for (int32_t p = 0; p < tasks->partitions; p++) {
        struct task *task = &tasks->tasks[p];
        if (!task->damaged) continue;
        owner_restore_again(tasks->owner, p);
        silence(tasks, p);
        task->damaged = false;
        for (size_t s = 0; s < tasks->product->store_count; s++)
            if (!in_memory(kind_of(tasks, s))) empty(tasks, s, p, SIZE_MAX);
    }
}

void tasks_damaged(struct tasks *tasks, int32_t partition, int code, const struct error *error) {
    struct task *task = &tasks->tasks[partition];
    if (code != -EBADMSG || !task->open || task->damaged) return;
    log_error(tasks->log, "state is read anew: a value is damaged on the disk", LOG_INT("partition", partition),
              LOG_TEXT("reason", error->text));
    task->damaged = true;
    loop_timer_again(tasks->turn, 0, 0);
}

static void store_failed(struct tasks *tasks, int32_t partition, int code, const struct error *error) {
    tasks_damaged(tasks, partition, code, error);
    if (code != -EBADMSG) tasks_fail(tasks, "the store failed", error);
}

/* ---- records ---- */

static const struct task_state *state_of(const struct tasks *tasks, const struct topic *topic) {
    const struct task_state *state = tasks->states;
    while (state->topic->topic != topic) state++;
    return state;
}

static void take(struct tasks *tasks, const struct kafka_record *record) {
    const struct task_state *state = state_of(tasks, record->topic);
    const char *reason = NULL;
    struct error error;
    if (!in_memory(state->kind)) {
        if (tasks->tasks[record->partition].damaged || record->offset < next_of(state, record->partition)) return;
    }
    if (state->topic->sees) state->topic->sees(tasks->context, record);
    int code = state->kind->take(state->store, state->number, record, &reason, &error);
    if (code)
        store_failed(tasks, record->partition, code, &error);
    else if (reason)
        kafka_producer_send_dead(tasks->dead_letters, record, reason);
}

static void write_all(struct tasks *tasks) {
    struct error error;
    for (size_t s = 0; !tasks->failed && s < tasks->product->store_count; s++) {
        const struct state_kind *kind = kind_of(tasks, s);
        if (!in_memory(kind) && kind->write(tasks->stores[s], &error)) tasks_fail(tasks, "the store failed", &error);
    }
}

static bool last_of_topic(const struct kafka_record *records, size_t count, size_t i) {
    return i + 1 == count || records[i + 1].partition != records[i].partition ||
           records[i + 1].topic != records[i].topic;
}

/* The decider hears of a record when it can be found in the store. */
static void records_of_states(void *context, const struct kafka_record *records, size_t count) {
    struct tasks *tasks = context;
    bool changed = false;
    for (size_t i = 0; i < count && !tasks->failed; i++) take(tasks, &records[i]);
    write_all(tasks);
    for (size_t i = 0; i < count && !tasks->failed; i++) {
        const struct task_state *state = state_of(tasks, records[i].topic);
        const struct task *task = &tasks->tasks[records[i].partition];
        if (task->damaged || in_memory(state->kind) || !last_of_topic(records, count, i)) continue;
        changed = changed || task->running;
        if (tasks->decider)
            decider_read_back(tasks->decider, records[i].topic, records[i].partition,
                              next_of(state, records[i].partition));
    }
    if (changed) tasks->product->changed(tasks->context);
}

static void idle(void *context) {}

/* ---- once a second ---- */

static bool is_current(const struct tasks *tasks, int32_t partition) {
    const struct task *task = &tasks->tasks[partition];
    bool all = task->open && !task->damaged;
    for (size_t s = 0; all && !task->running && s < tasks->state_count; s++)
        all = in_memory(tasks->states[s].kind) || owner_state_lag(tasks->owner, s, partition) == 0;
    return all;
}

static void keep(struct tasks *tasks, size_t store, int32_t partition, int64_t now_ms) {
    const struct state_kind *kind = kind_of(tasks, store);
    struct error error;
    int code = kind->keep ? kind->keep(tasks->stores[store], partition, now_ms, &error) : 0;
    if (code) store_failed(tasks, partition, code, &error);
    if (!code && (now_ms / 1000 + partition) % TOUCH_S == 0) kind->touch(tasks->stores[store], partition, now_ms);
}

void tasks_second(struct tasks *tasks) {
    int64_t now = clock_wall_ms();
    owner_second(tasks->owner);
    for (int32_t p = 0; p < tasks->partitions; p++) {
        for (size_t s = 0; s < tasks->product->store_count && !tasks->failed && is_current(tasks, p); s++)
            if (!in_memory(kind_of(tasks, s))) keep(tasks, s, p, now);
    }
    write_all(tasks);
}

/* ---- the owner's other callbacks ---- */

static void join(struct tasks *tasks) {
    struct error error;
    if (!tasks->prepared || !tasks->may_join || tasks->draining) return;
    if (owner_join(tasks->owner, &error)) tasks_fail(tasks, "the group cannot be joined", &error);
}

static void prepared(void *context) {
    struct tasks *tasks = context;
    tasks->prepared = true;
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
}

static bool blocked(void *context) { return false; }

static void drained(void *context) {
    struct tasks *tasks = context;
    tasks->product->drained(tasks->context);
}

static void failed(void *context, const char *doing, const struct error *error) { tasks_fail(context, doing, error); }

static const struct owner_product OWNED = {
    .attach = attach,
    .detach = detach,
    .own = own,
    .silence = silence,
    .state = records_of_states,
    .state_idle = idle,
    .state_lost = lost,
    .reached = reached,
    .unapplied = unapplied,
    .live = live,
    .flush_old = flush_old,
    .flush = flush,
    .settle = flush,
    .blocked = blocked,
    .prepared = prepared,
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
    tasks->draining = true;
    owner_drain(tasks->owner);
}

bool tasks_busy(struct tasks *tasks) {
    tasks->draining = true;
    owner_stop(tasks->owner);
    return owner_busy(tasks->owner);
}

static void add_state(struct tasks *tasks, const struct tasks_topic *topic) {
    struct task_state *state = &tasks->states[tasks->state_count++];
    bool same = state != tasks->states && state[-1].topic->store == topic->store;
    *state = (struct task_state){.topic = topic,
                                 .kind = kind_of(tasks, topic->store),
                                 .store = tasks->stores[topic->store],
                                 .number = same ? state[-1].number + 1 : 0};
}

int tasks_start(struct tasks *tasks, const struct owner_options *owner, void *const *stores,
                struct kafka_producer *dead_letters, int64_t max_age_ms, struct error *error) {
    const struct tasks_product *product = tasks->product;
    struct owner_topic *topics = mem_zero(product->topic_count, sizeof *topics);
    struct owner_options options = *owner;
    memcpy(tasks->stores, stores, product->store_count * sizeof *stores);
    for (size_t t = 0; t < product->topic_count; t++) {
        topics[t] = (struct owner_topic){product->topics[t].topic, product->topics[t].role};
        if (topics[t].role == OWNER_STATE) add_state(tasks, &product->topics[t]);
    }
    tasks->decider = options.decider;
    tasks->dead_letters = dead_letters;
    tasks->max_age_ms = max_age_ms;
    options.topics = topics;
    options.topic_count = product->topic_count;
    options.product = &OWNED;
    options.context = tasks;
    int code = owner_new(&options, &tasks->owner, error);
    free(topics);
    return code ? code : owner_start(tasks->owner, error);
}

struct tasks *tasks_new(uv_loop_t *loop, struct log *log, int32_t partitions, const struct tasks_product *product,
                        void *context) {
    struct tasks *tasks = mem_alloc(sizeof *tasks);
    *tasks = (struct tasks){
        .product = product,
        .context = context,
        .log = log,
        .partitions = partitions,
        .tasks = mem_zero((size_t)partitions, sizeof *tasks->tasks),
        .turn = loop_timer_new(loop, 0, 0, mend, tasks),
    };
    loop_timer_stop(tasks->turn);
    return tasks;
}

void tasks_free(struct tasks *tasks) {
    if (!tasks) return;
    owner_free(tasks->owner);
    loop_timer_free(tasks->turn);
    free(tasks->tasks);
    free(tasks);
}
