/* Tests decider.c, queue.c, transactions.c and waiters.c. The decider with a product of its own, counters, over a Kafka in memory: what
 * it promises whatever fails. */
#include "decider/command_offset.h"
#include "decider/decider.h"
#include "fakes/kafka.h"
#include "unit/kit/kit.h"

enum {
    PARTITIONS = 2,
    KEYS = 26,
    REQUESTS = 1000,
    WAITERS = 3,
    TRACED = 13 /* commands of this amount are traced */,
    HUGE_ONE = 88888 /* their records are too large */
};

static const struct topic ADDING = {.name = "adding", .space = TOPIC_SPACE_USERS};
static const struct topic TAKING = {.name = "taking", .space = TOPIC_SPACE_USERS};
static const struct topic COUNTERS = {.name = "counters", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_COMPACTED};
static const struct topic OFFSETS = {.name = "offsets", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_COMPACTED};
static const struct topic *const COMMANDS[] = {&ADDING, &TAKING};
static const struct decider_state STATES[] = {{&COUNTERS, 8, sizeof(int64_t)}};

/* A command's value is "a 5" or "a 5 77": counter a changes by 5, at most once for request 77. Its partition is that of its
 * counter. State records are "a" -> the sum, and "#77" -> what the sum then was. */
struct change {
    char counter;
    int amount, request; /* 0: none */
};

struct world {
    uv_loop_t loop;
    struct kafka_settings settings;
    struct kafka_consumer *consumer;
    struct decider *decider;
    struct metrics *registry;
    struct decider_metrics metrics;
    struct tracer *tracer;
    struct handoff *spans;
    int traced_decisions;
    bool assigned, begin_wanted;
    int resets, decide_fails, decided;
    struct { /* what was read from COUNTERS */
        bool known;
        int64_t sum;
    } counters[KEYS], requests[REQUESTS];
    int64_t expected[KEYS]; /* what all commands that were sent must come to */
    bool seen[REQUESTS];
};

static int32_t partition_of(char counter) { return (counter - 'a') % PARTITIONS; }

/* ---- the product ---- */

static int read_command(void *context, const struct kafka_record *record, void *item, struct error *error) {
    struct change *change = item;
    char text[64];
    *change = (struct change){.request = 0};
    snprintf(text, sizeof text, "%.*s", (int)record->value_size, (const char *)record->value);
    if (sscanf(text, "%c %d %d", &change->counter, &change->amount, &change->request) < 2)
        return error_set(error, -EBADMSG, "no command: %s", text);
    return 0;
}

static int64_t look_up(struct world *w, const char *key, bool known, int64_t sum, bool *found) {
    const int64_t *newest = overlay_find(decider_overlay(w->decider, &COUNTERS), key, strlen(key), NULL);
    *found = newest || known;
    return newest ? *newest : known ? sum : 0;
}

static int put(struct world *w, char counter, const char *key, int64_t sum) {
    char text[24];
    int size = snprintf(text, sizeof text, "%lld", (long long)sum);
    int32_t partition = partition_of(counter);
    overlay_put(decider_overlay(w->decider, &COUNTERS), partition, (uint64_t)counter, key, strlen(key), &sum,
                sizeof sum);
    return decider_write(w->decider, &COUNTERS, partition, key, strlen(key), text, (size_t)size);
}

static int decide_one(struct world *w, const struct decider_command *command) {
    const struct change *change = command->item;
    char key[2] = {change->counter}, request[16];
    int number = change->counter - 'a';
    bool found, done = false;
    if (change->amount == HUGE_ONE) {
        static const uint8_t TEXT[2000000];
        return decider_write(w->decider, &COUNTERS, partition_of(change->counter), key, 1, TEXT, sizeof TEXT);
    }
    int64_t sum = look_up(w, key, w->counters[number].known, w->counters[number].sum, &found);
    snprintf(request, sizeof request, "#%d", change->request);
    if (change->request)
        look_up(w, request, w->requests[change->request].known, w->requests[change->request].sum, &done);
    if (done) return 0;
    w->decided++;
    sum += command->topic == &TAKING ? -change->amount : change->amount;
    int code = put(w, change->counter, key, sum);
    if (!code && change->request) code = put(w, change->counter, request, sum);
    return code;
}

static int decide(void *context, struct decider_command *commands, size_t count, struct error *error) {
    struct world *w = context;
    if (w->decide_fails) {
        w->decide_fails--;
        return error_set(error, -EIO, "no mood");
    }
    int code = 0;
    // The traced command is decided alone.
    bool traced = tracer_current(w->tracer);
    w->traced_decisions += traced;
    if (traced) assert_int_equal(count, 1);
    for (size_t i = 0; !code && i < count; i++) {
        assert_int_equal(((const struct change *)commands[i].item)->amount == TRACED, traced);
        code = decide_one(w, &commands[i]);
    }
    return code;
}

/* ---- the owner: everything is begun again when it has to be ---- */

static void on_handled(void *context) {}

static void on_reset(void *context) {
    struct world *w = context;
    w->resets++;
    w->begin_wanted = w->assigned;
}

static void apply(struct world *w, const uint8_t *key, size_t key_size, const uint8_t *value, size_t value_size) {
    char name[16], text[24];
    snprintf(name, sizeof name, "%.*s", (int)key_size, (const char *)key);
    snprintf(text, sizeof text, "%.*s", (int)value_size, (const char *)value);
    int64_t sum = strtoll(text, NULL, 10);
    if (name[0] == '#') {
        w->requests[atoi(name + 1)].known = true;
        w->requests[atoi(name + 1)].sum = sum;
    } else {
        w->counters[name[0] - 'a'].known = true;
        w->counters[name[0] - 'a'].sum = sum;
    }
}

/* As lib/kafka does with a record that carries a context. */
static void take_command(struct world *w, const struct kafka_record *record) {
    struct change change;
    struct trace_scope scope;
    bool traced =
        !read_command(w, record, &change, NULL) && change.amount == TRACED && tracer_begin(w->tracer, NULL, 0, &scope);
    struct trace_scope *before = tracer_enter(w->tracer, traced ? &scope : NULL);
    decider_take(w->decider, record);
    tracer_enter(w->tracer, before);
}

static void on_records(void *context, const struct kafka_record *records, size_t count) {
    struct world *w = context;
    for (size_t i = 0; i < count; i++) {
        const struct kafka_record *record = &records[i];
        if (record->topic == &COUNTERS)
            apply(w, record->key, record->key_size, record->value, record->value_size);
        else
            take_command(w, record);
    }
    decider_run(w->decider);
}

static void on_drained(void *context) {
    struct world *w = context;
    for (int32_t p = 0; w->decider && p < PARTITIONS; p++) {
        int64_t next = kafka_consumer_position(w->consumer, &COUNTERS, p);
        if (next >= 0) decider_read_back(w->decider, &COUNTERS, p, next);
    }
}

static void on_assigned(void *context, const struct kafka_position *owned, size_t count) {
    struct world *w = context;
    w->assigned = w->begin_wanted = true;
}

static void on_revoked(void *context, bool lost) {
    struct world *w = context;
    w->assigned = w->begin_wanted = false;
    if (w->decider) decider_revoke(w->decider);
}

static int64_t offset_as_state(const struct topic *topic, int32_t partition) {
    int64_t next = 0;
    for (size_t i = 0; i < fake_count(&OFFSETS, partition); i++) {
        struct fake_record record = fake_record_at(&OFFSETS, partition, i);
        if (record.key_size == strlen(topic->name) && !memcmp(record.key, topic->name, record.key_size))
            assert_int_equal(command_offset_get(record.value, record.value_size, &next), 0);
    }
    return next;
}

/* All state is read, and every partition begins at the higher of its two offsets. */
static void begin(struct world *w) {
    struct kafka_position read[3 * PARTITIONS];
    size_t count = 0;
    w->begin_wanted = false;
    memset(w->counters, 0, sizeof w->counters);
    memset(w->requests, 0, sizeof w->requests);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        for (size_t i = 0; i < fake_count(&COUNTERS, p); i++) {
            struct fake_record record = fake_record_at(&COUNTERS, p, i);
            apply(w, record.key, record.key_size, record.value, record.value_size);
        }
        read[count++] = (struct kafka_position){.topic = &COUNTERS, .partition = p, .offset = fake_end(&COUNTERS, p)};
        for (size_t t = 0; t < 2; t++) {
            struct kafka_position from = {.topic = COMMANDS[t], .partition = p};
            assert_int_equal(kafka_consumer_committed(w->consumer, &from, 1, 1000, NULL), 0);
            int64_t state = offset_as_state(COMMANDS[t], p);
            if (from.offset < state) from.offset = state;
            decider_begin(w->decider, from.topic, p, from.offset, fake_end(from.topic, p));
            read[count++] = from;
        }
    }
    assert_int_equal(kafka_consumer_read(w->consumer, read, count, NULL), 0);
}

static void turn(struct world *w) {
    if (w->begin_wanted && w->decider && decider_ready(w->decider) && !decider_committing(w->decider)) begin(w);
    fake_turn(&w->loop);
}

#define UNTIL(w, condition)                                                                                            \
    do {                                                                                                               \
        int64_t began_us_ = clock_monotonic_us();                                                                      \
        while (!(condition)) {                                                                                         \
            if (clock_monotonic_us() - began_us_ > 20000000) fail_msg("never came: %s", #condition);                   \
            turn(w);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---- the world ---- */

static void start_decider(struct world *w) {
    w->decider = decider_new(&(struct decider_options){
        .loop = &w->loop,
        .settings = &w->settings,
        .metrics = w->metrics,
        .transactional_id = "one",
        .partitions = PARTITIONS,
        .commands = COMMANDS,
        .command_count = 2,
        .states = STATES,
        .state_count = 1,
        .offsets = &OFFSETS,
        .batch = 100,
        .item_size = sizeof(struct change),
        .waiters = WAITERS,
        .context = w,
        .read = read_command,
        .decide = decide,
        .on_handled = on_handled,
        .on_reset = on_reset,
    });
    struct kafka_consumer_options options = {.loop = &w->loop,
                                             .settings = &w->settings,
                                             .group = "group",
                                             .context = w,
                                             .on_records = on_records,
                                             .on_assigned = on_assigned,
                                             .on_revoked = on_revoked,
                                             .on_drained = on_drained};
    assert_int_equal(kafka_consumer_new(&options, &w->consumer, NULL), 0);
    decider_set_consumer(w->decider, w->consumer);
    fake_assign_range(w->consumer, &ADDING, 0, PARTITIONS - 1);
}

static void stop_decider(struct world *w) {
    decider_stop(w->decider);
    UNTIL(w, !decider_busy(w->decider));
    decider_free(w->decider);
    w->decider = NULL;
    kafka_consumer_free(w->consumer);
    w->assigned = w->begin_wanted = false;
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    uv_loop_init(&w->loop);
    w->settings = (struct kafka_settings){.bootstrap = "memory", .prefix = "", .client_id = "test"};
    w->spans = handoff_new(1000, sizeof(struct trace_span));
    w->tracer = tracer_new(&(struct tracer_options){.every = 1, .max_per_s = 1000000, .spans = w->spans});
    w->settings.tracer = w->tracer;
    w->registry = kit_metrics();
    w->metrics = (struct decider_metrics){
        .commands = metrics_counter(w->registry, "commands", "", NULL),
        .queued = metrics_gauge(w->registry, "queued", "", NULL),
        .overlay = metrics_gauge(w->registry, "overlay", "", NULL),
        .transactions = metrics_counter(w->registry, "transactions", "", NULL),
        .failed = metrics_counter(w->registry, "failed", "", NULL),
        .dead = metrics_counter(w->registry, "dead", "", NULL),
    };
    fake_kafka_start();
    fake_topic(&ADDING, PARTITIONS);
    fake_topic(&TAKING, PARTITIONS);
    fake_topic(&COUNTERS, PARTITIONS);
    fake_topic(&OFFSETS, PARTITIONS);
    for (size_t t = 0; t < 2; t++)
        for (int32_t p = 0; p < PARTITIONS; p++) fake_commit(COMMANDS[t], p, 0);
    start_decider(w);
    return w;
}

TEAR_DOWN(struct world *w) {
    stop_decider(w);
    kit_loop_end(&w->loop);
    tracer_free(w->tracer);
    handoff_free(w->spans);
}

static void command(struct world *w, const struct topic *topic, char counter, int amount, int request) {
    char text[32];
    int size = request ? snprintf(text, sizeof text, "%c %d %d", counter, amount, request)
                       : snprintf(text, sizeof text, "%c %d", counter, amount);
    fake_append(topic, partition_of(counter), &counter, 1, text, (size_t)size);
    if (!w->seen[request]) w->expected[counter - 'a'] += topic == &TAKING ? -amount : amount;
    if (request) w->seen[request] = true;
}

static bool is_handled(const struct world *w) {
    for (size_t t = 0; t < 2; t++) {
        for (int32_t p = 0; p < PARTITIONS; p++) {
            int64_t handled = decider_handled(w->decider, COMMANDS[t], p);
            if (handled < 0) return false;
            for (int64_t i = 0; i < (int64_t)fake_count(COMMANDS[t], p); i++)
                if (fake_record_at(COMMANDS[t], p, (size_t)i).offset >= handled) return false;
        }
    }
    return true;
}

/* The topic holds the expected sums in the end: the last record of each counter. */
static void assert_sums(struct world *w) {
    int64_t sums[KEYS] = {0};
    for (int32_t p = 0; p < PARTITIONS; p++) {
        for (size_t i = 0; i < fake_count(&COUNTERS, p); i++) {
            struct fake_record record = fake_record_at(&COUNTERS, p, i);
            if (*record.key == '#') continue;
            char text[24];
            snprintf(text, sizeof text, "%.*s", (int)record.value_size, (const char *)record.value);
            sums[*record.key - 'a'] = strtoll(text, NULL, 10);
        }
    }
    for (int i = 0; i < KEYS; i++) assert_int_equal(sums[i], w->expected[i]);
}

static void settle(struct world *w) {
    UNTIL(w, is_handled(w));
    assert_sums(w);
}

/* ---- tests ---- */

TEST(commands_of_all_topics_are_in_one_transaction, struct world *w) {
    UNTIL(w, decider_ready(w->decider));
    command(w, &ADDING, 'a', 5, 0);
    command(w, &ADDING, 'b', 7, 0);
    command(w, &TAKING, 'a', 2, 0);
    settle(w);
    assert_int_equal((int)w->metrics.commands->value, 3);
    assert_int_equal((int)w->metrics.transactions->value, 1);
    assert_int_equal(fake_committed(&ADDING, 0), 1);
    assert_int_equal(fake_committed(&ADDING, 1), 1);
    assert_int_equal(fake_committed(&TAKING, 0), 1);
    assert_int_equal(offset_as_state(&ADDING, 0), 1);
    assert_int_equal(offset_as_state(&ADDING, 1), 1);
    assert_int_equal(offset_as_state(&TAKING, 0), 1);
    assert_int_equal(fake_count(&OFFSETS, 1), 1);
    UNTIL(w, !overlay_find(decider_overlay(w->decider, &COUNTERS), "a", 1, NULL));
    assert_int_equal(w->metrics.overlay->value, 0);
}

TEST(a_transaction_that_fails_is_decided_again, struct world *w) {
    static const int CODES[] = {-EAGAIN, -ESTALE, -EIO};
    for (size_t i = 0; i < 3; i++) {
        fake_fail(FAKE_TRANSACTION_COMMIT, CODES[i], 1);
        command(w, &ADDING, 'a', 5, 0);
        command(w, &TAKING, 'b', 3, 0);
        UNTIL(w, w->resets == (int)i + 1);
        settle(w);
    }
    assert_int_equal((int)w->metrics.failed->value, 3);
}

TEST(commands_that_wait_are_shown, struct world *w) {
    UNTIL(w, decider_ready(w->decider));
    fake_gate(FAKE_TRANSACTION_COMMIT, true);
    command(w, &ADDING, 'a', 5, 0);
    UNTIL(w, fake_waiting(FAKE_TRANSACTION_COMMIT));
    assert_int_equal((int)w->metrics.queued->value, 1);
    fake_fail(FAKE_TRANSACTION_COMMIT, -EAGAIN, 1);
    fake_gate(FAKE_TRANSACTION_COMMIT, false);
    UNTIL(w, w->resets == 1);
    assert_int_equal((int)w->metrics.queued->value, 1); // it waits in the topic again
    settle(w);
    assert_int_equal((int)w->metrics.queued->value, 0);
}

struct outcome {
    int calls, code;
};

static void note(void *context, int code) {
    struct outcome *outcome = context;
    outcome->calls++;
    outcome->code = code;
}

static int64_t soon(int ms) { return clock_monotonic_us() + ms * 1000; }

TEST(a_record_that_is_too_large_costs_its_command_alone, struct world *w) {
    struct outcome refused = {0}, taken = {0}, late = {0};
    UNTIL(w, decider_ready(w->decider));
    for (int counter = 'a'; counter < 'f'; counter++) command(w, &ADDING, (char)counter, 5, 0);
    command(w, &ADDING, 'b', HUGE_ONE, 0);
    int64_t offset = fake_end(&ADDING, 1) - 1;
    assert_int_equal(decider_await(w->decider, &ADDING, 1, offset, soon(60000), &refused, note), 0);
    assert_int_equal(decider_await(w->decider, &ADDING, 1, offset - 1, soon(60000), &taken, note), 0);
    w->expected['b' - 'a'] -= HUGE_ONE;
    for (int counter = 'a'; counter < 'f'; counter++) command(w, &ADDING, (char)counter, 7, 0);
    settle(w);
    assert_int_equal(fake_dead_count(&ADDING), 1);
    assert_non_null(strstr(fake_dead_at(&ADDING, 0).reason, "larger"));
    assert_true(w->metrics.failed->value <= 3);
    assert_int_equal(refused.code, -EMSGSIZE);
    assert_true(taken.calls == 1 && taken.code == 0);
    assert_int_equal(decider_await(w->decider, &ADDING, 1, offset, soon(60000), &late, note), 0);
    assert_int_equal(late.code, -EMSGSIZE);
    double transactions = w->metrics.transactions->value;
    command(w, &ADDING, 'a', 5, 0);
    settle(w);
    assert_true(w->metrics.transactions->value == transactions + 1);
}

TEST(an_abort_that_fails_is_the_end_of_a_producer, struct world *w) {
    fake_fail(FAKE_TRANSACTION_COMMIT, -EAGAIN, 1);
    fake_fail(FAKE_ABORT, -ETIMEDOUT, 1);
    command(w, &ADDING, 'a', 5, 0);
    settle(w);
    assert_int_equal(fake_calls(FAKE_INIT), 2);
}

TEST(a_commit_without_an_answer_counts_once, struct world *w) {
    for (int committed = 0; committed < 2; committed++) {
        fake_commit_unanswered(committed);
        command(w, &ADDING, 'a', 5, 0);
        UNTIL(w, w->resets == committed + 1);
        settle(w);
    }
}

TEST(what_is_revoked_meanwhile_is_decided_under_the_next_assignment, struct world *w) {
    UNTIL(w, decider_ready(w->decider));
    fake_gate(FAKE_TRANSACTION_COMMIT, true);
    command(w, &ADDING, 'a', 5, 0);
    UNTIL(w, fake_waiting(FAKE_TRANSACTION_COMMIT));
    fake_revoke(w->consumer, true);
    assert_int_equal(decider_handled(w->decider, &ADDING, 0), -1);
    fake_assign_range(w->consumer, &ADDING, 0, 1);
    fake_gate(FAKE_TRANSACTION_COMMIT, false);
    settle(w);
    assert_int_equal(w->decided, 2);
}

TEST(a_commit_waits_for_late_reports_and_the_loop_does_not, struct world *w) {
    fake_hold_reports(true);
    command(w, &ADDING, 'a', 5, 0);
    UNTIL(w, fake_calls(FAKE_TRANSACTION_COMMIT) == 1);
    for (int i = 0; i < 10; i++) turn(w);
    assert_true(decider_busy(w->decider));
    assert_int_equal(decider_handled(w->decider, &ADDING, 0), 0);
    fake_hold_reports(false);
    settle(w);
}

TEST(a_deleted_group_decides_nothing_twice, struct world *w) {
    for (int i = 0; i < 20; i++) command(w, i % 3 ? &ADDING : &TAKING, (char)('a' + i % 4), i, 0);
    settle(w);
    stop_decider(w);
    fake_delete_group();
    w->decided = 0;
    start_decider(w);
    command(w, &ADDING, 'c', 100, 0);
    settle(w);
    assert_int_equal(w->decided, 1);
}

TEST(repeated_keys_are_decided_once, struct world *w) {
    for (int i = 0; i < 5; i++) command(w, &ADDING, 'a', 10, 7); // in one transaction
    settle(w);
    command(w, &ADDING, 'a', 10, 7); // once it was read back, or not yet
    command(w, &ADDING, 'a', 1, 8);
    settle(w);
    stop_decider(w); // by another process
    start_decider(w);
    command(w, &ADDING, 'a', 10, 7);
    settle(w);
    assert_int_equal(w->decided, 2);
    assert_int_equal(w->expected[0], 11);
}

TEST(what_is_no_command_is_a_dead_letter_once, struct world *w) {
    fake_fail(FAKE_TRANSACTION_COMMIT, -EAGAIN, 2);
    fake_append(&ADDING, 1, "k", 1, "garbage", 7);
    fake_append(&ADDING, 1, "k", 1, NULL, 0);
    command(w, &ADDING, 'b', 4, 0);
    settle(w);
    assert_int_equal(fake_dead_count(&ADDING), 2);
    struct fake_record dead = fake_dead_at(&ADDING, 0);
    assert_int_equal(dead.offset, 0);
    assert_int_equal(dead.partition, 1);
    assert_memory_equal(dead.value, "garbage", 7);
    assert_non_null(strstr(dead.reason, "no command"));
    assert_int_equal(fake_dead_at(&ADDING, 1).offset, 1);
}

TEST(records_that_were_decided_or_are_not_begun_are_passed_by, struct world *w) {
    command(w, &ADDING, 'a', 5, 0);
    settle(w);
    struct kafka_record again = {
        .topic = &ADDING, .partition = 0, .offset = 0, .value = (const uint8_t *)"a 5", .value_size = 3};
    decider_take(w->decider, &again);
    assert_int_equal(decider_queued(w->decider), 0);
    fake_revoke(w->consumer, false);
    again.offset = 1;
    decider_take(w->decider, &again);
    assert_int_equal(decider_queued(w->decider), 0);
    again.partition = PARTITIONS;
    decider_take(w->decider, &again);
    again.partition = 0;
    again.topic = &COUNTERS;
    decider_take(w->decider, &again);
    assert_int_equal(decider_queued(w->decider), 0);
}

TEST(a_product_that_fails_is_asked_again_ever_more_slowly, struct world *w) {
    w->decide_fails = 5;
    int64_t began_us = clock_monotonic_us();
    command(w, &ADDING, 'a', 5, 0);
    UNTIL(w, w->metrics.failed->value >= 3);
    settle(w);
    assert_int_equal((int)w->metrics.failed->value, 5);
    assert_true(clock_monotonic_us() - began_us >= (50 + 100 + 200 + 400) * 1000);
    assert_int_equal(fake_dead_count(&ADDING), 0);
}

/* More than a slice, and more than a transaction takes. */
TEST(many_commands_are_decided_in_several_transactions, struct world *w) {
    for (int i = 0; i < 1050; i++) command(w, i % 7 ? &ADDING : &TAKING, (char)('a' + i % KEYS), i, 0);
    settle(w);
    assert_true(w->metrics.transactions->value >= 10);
    assert_int_equal((int)w->metrics.commands->value, 1050);
}

TEST(a_traced_command_is_decided_alone_in_its_trace, struct world *w) {
    size_t count;
    for (int i = 0; i < 40; i++) command(w, &ADDING, 'a', i % 10 == 5 ? TRACED : 1, 0);
    settle(w);
    assert_int_equal(w->traced_decisions, 4);
    // Each has a span of the transaction that it was decided in.
    const struct trace_span *spans = handoff_take(w->spans, 1, &count);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < 4; i++) assert_string_equal(spans[i].facts.name, "transaction");
}

TEST(those_who_wait_hear_of_the_outcome, struct world *w) {
    struct outcome first = {0}, second = {0}, late = {0}, lost = {0}, done = {0};
    UNTIL(w, decider_handled(w->decider, &ADDING, 0) == 0);
    assert_int_equal(decider_await(w->decider, &ADDING, 0, 0, soon(60000), &first, note), 0);
    assert_int_equal(decider_await(w->decider, &ADDING, 0, 1, soon(60000), &second, note), 0);
    assert_int_equal(decider_await(w->decider, &ADDING, 1, 0, soon(1), &late, note), 0);
    assert_int_equal(decider_await(w->decider, &ADDING, 1, 0, soon(1), &done, note), -EAGAIN);
    UNTIL(w, late.calls);
    assert_int_equal(late.code, -ETIMEDOUT);
    assert_int_equal(first.calls, 0);
    command(w, &ADDING, 'a', 5, 0);
    UNTIL(w, first.calls);
    assert_int_equal(first.code, 0);
    assert_int_equal(second.calls, 0);
    command(w, &ADDING, 'a', 5, 0);
    UNTIL(w, second.calls);
    assert_int_equal(decider_await(w->decider, &ADDING, 0, 1, soon(1), &done, note), 0);
    assert_int_equal(done.calls, 1);
    assert_int_equal(done.code, 0);
    assert_int_equal(decider_await(w->decider, &ADDING, 0, 9, soon(60000), &lost, note), 0);
    fake_revoke(w->consumer, true);
    assert_int_equal(lost.calls, 0);
    decider_lost(w->decider, 1);
    assert_int_equal(lost.calls, 0);
    decider_lost(w->decider, 0);
    assert_int_equal(lost.code, -ESTALE);
    assert_int_equal(decider_await(w->decider, &ADDING, 0, 9, soon(60000), &first, note), 0);
    assert_int_equal(decider_await(w->decider, &COUNTERS, 0, 9, soon(60000), &first, note), -EINVAL);
    stop_decider(w);
    assert_int_equal(first.calls, 2);
    assert_int_equal(first.code, -ECANCELED);
    assert_int_equal(lost.calls + second.calls + late.calls, 3);
    start_decider(w);
}

/* A transaction that fails is no loss of the partition: who waits goes on waiting. */
TEST(those_who_wait_outlast_a_failed_transaction, struct world *w) {
    struct outcome outcome = {0};
    fake_fail(FAKE_TRANSACTION_COMMIT, -EIO, 1);
    assert_int_equal(decider_await(w->decider, &ADDING, 0, 0, soon(60000), &outcome, note), 0);
    command(w, &ADDING, 'a', 5, 0);
    UNTIL(w, outcome.calls);
    assert_int_equal(outcome.code, 0);
    assert_int_equal(w->resets, 1);
}

/* Anything at any time: every command counts once, and every request once. */
static void trouble(struct world *w, int what) {
    static const int CODES[] = {-EAGAIN, -ESTALE, -EIO};
    switch (what % 12) {
    case 0: fake_fail(FAKE_TRANSACTION_COMMIT, CODES[what / 12 % 3], 1); break;
    case 1: fake_commit_unanswered(what / 12 % 2); break;
    case 2: fake_assign_range(w->consumer, &ADDING, 0, 1); break;
    case 3: fake_revoke(w->consumer, what / 12 % 2); break;
    case 4: w->decide_fails = 1; break;
    case 5: fake_fail(FAKE_INIT, -EAGAIN, 1); break;
    case 6: fake_fail(FAKE_SEND, -EAGAIN, 1); break;
    case 7: fake_hold_reports(what / 12 % 2); break;
    case 8: fake_fail_reports(1, -ETIMEDOUT, true); break;
    case 9:
        stop_decider(w);
        if (what / 12 % 2) fake_delete_group();
        start_decider(w);
        break;
    case 10: fake_fail(FAKE_BEGIN, -EIO, 1); break;
    default: fake_fail(FAKE_ABORT, -EIO, 1); break;
    }
}

TEST(whatever_happens_every_command_counts_once, struct world *w) {
    unsigned seed = 4711;
    for (int step = 0; step < 1500; step++) {
        int dice = rand_r(&seed) % 100, amount = rand_r(&seed) % 50;
        char counter = (char)('a' + rand_r(&seed) % 6);
        if (dice < 40)
            command(w, &ADDING, counter, amount, 0);
        else if (dice < 50)
            command(w, &TAKING, counter, amount, 0);
        else if (dice < 60) { // each request has one counter and one amount
            int request = 1 + rand_r(&seed) % 200;
            command(w, &ADDING, (char)('a' + request % 6), request, request);
        } else if (dice < 65)
            trouble(w, rand_r(&seed) % 1000);
        else
            turn(w);
    }
    fake_hold_reports(false);
    fake_fail(FAKE_TRANSACTION_COMMIT, 0, 0);
    if (!w->assigned) fake_assign_range(w->consumer, &ADDING, 0, 1);
    settle(w);
}
