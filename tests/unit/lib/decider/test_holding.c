/* Tests holding.c, and what transactions.c and decider.c do for it: commands that are passed by unread, positions that are held back, and
 * transactions in which nothing is written. The product: "x" is nothing to it, "q" changes nothing, "h" is kept in memory, and "w" writes
 * all that is kept. */
#include "decider/command_offset.h"
#include "decider/decider.h"
#include "fakes/kafka.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 2 };

static const struct topic COMMANDS_TOPIC = {.name = "letters", .space = TOPIC_SPACE_USERS};
static const struct topic WRITTEN = {.name = "written", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_COMPACTED};
static const struct topic OFFSETS = {.name = "offsets", .space = TOPIC_SPACE_USERS, .cleanup = TOPIC_COMPACTED};
static const struct topic *const COMMANDS[] = {&COMMANDS_TOPIC};
static const struct decider_state STATES[] = {{&WRITTEN, 1, 1}};

struct world {
    uv_loop_t loop;
    struct kafka_settings settings;
    struct kafka_consumer *consumer;
    struct decider *decider;
    struct decider_metrics metrics;
    bool assigned, write_at_the_end;
    int reads, decided, forgotten, resets;
    int64_t kept; /* the first command that is in memory alone; INT64_MAX: none is */
};

/* ---- the product ---- */

static bool wanted(void *context, const struct kafka_record *record) { return *record->value != 'x'; }

static int read_command(void *context, const struct kafka_record *record, void *item, struct error *error) {
    ((struct world *)context)->reads++;
    *(char *)item = (char)*record->value;
    return *record->value == 'b' ? error_set(error, -EBADMSG, "bad") : 0;
}

static int64_t held(void *context, const struct topic *topic, int32_t partition) {
    return partition ? INT64_MAX : ((struct world *)context)->kept;
}

static int write_all(struct world *w) {
    w->kept = INT64_MAX;
    return decider_write(w->decider, &WRITTEN, 0, "k", 1, "v", 1);
}

static int decide(void *context, struct decider_command *commands, size_t count, struct error *error) {
    struct world *w = context;
    int code = 0;
    for (size_t i = 0; !code && i < count; i++) {
        char letter = *(const char *)commands[i].item;
        w->decided++;
        if (letter == 'h' && commands[i].offset < w->kept) w->kept = commands[i].offset;
        if (letter == 'w') code = write_all(w);
    }
    return code;
}

static int finish(void *context, struct error *error) {
    struct world *w = context;
    return w->write_at_the_end && w->kept < INT64_MAX ? write_all(w) : 0;
}

static void on_handled(void *context) {}
static void on_reset(void *context) { ((struct world *)context)->resets++; }
static void on_forget(void *context) {
    ((struct world *)context)->forgotten++;
    ((struct world *)context)->kept = INT64_MAX;
}

/* ---- the owner ---- */

static void on_records(void *context, const struct kafka_record *records, size_t count) {
    struct world *w = context;
    for (size_t i = 0; i < count; i++) decider_take(w->decider, &records[i]);
    decider_run(w->decider);
}

static void on_assigned(void *context, const struct kafka_position *owned, size_t count) {
    ((struct world *)context)->assigned = true;
}

static void on_revoked(void *context, bool lost) {
    struct world *w = context;
    w->assigned = false;
    if (w->decider) decider_revoke(w->decider);
}

static void begin(struct world *w) {
    struct kafka_position read[PARTITIONS];
    FAKE_UNTIL(&w->loop, w->assigned && decider_ready(w->decider) && !decider_committing(w->decider));
    for (int32_t p = 0; p < PARTITIONS; p++) {
        int64_t from = fake_committed(&COMMANDS_TOPIC, p);
        read[p] = (struct kafka_position){&COMMANDS_TOPIC, p, from < 0 ? 0 : from};
        decider_begin(w->decider, &COMMANDS_TOPIC, p, read[p].offset, fake_end(&COMMANDS_TOPIC, p));
    }
    assert_int_equal(kafka_consumer_read(w->consumer, read, PARTITIONS, NULL), 0);
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    kit_loop(&w->loop);
    w->kept = INT64_MAX;
    w->settings = (struct kafka_settings){.bootstrap = "memory", .prefix = "", .client_id = "test"};
    w->metrics = decider_metrics_of(kit_metrics(), "test");
    fake_kafka_start();
    fake_topic(&COMMANDS_TOPIC, PARTITIONS);
    fake_topic(&WRITTEN, PARTITIONS);
    fake_topic(&OFFSETS, PARTITIONS);
    w->decider = decider_new(&(struct decider_options){.loop = &w->loop,
                                                       .settings = &w->settings,
                                                       .log = kit_log(),
                                                       .metrics = w->metrics,
                                                       .transactional_id = "one",
                                                       .partitions = PARTITIONS,
                                                       .commands = COMMANDS,
                                                       .command_count = 1,
                                                       .states = STATES,
                                                       .state_count = 1,
                                                       .offsets = &OFFSETS,
                                                       .batch = 10,
                                                       .item_size = 1,
                                                       .context = w,
                                                       .wanted = wanted,
                                                       .held = held,
                                                       .finish = finish,
                                                       .read = read_command,
                                                       .decide = decide,
                                                       .on_handled = on_handled,
                                                       .on_reset = on_reset,
                                                       .on_forget = on_forget});
    struct kafka_consumer_options options = {.loop = &w->loop,
                                             .settings = &w->settings,
                                             .group = "group",
                                             .context = w,
                                             .on_records = on_records,
                                             .on_assigned = on_assigned,
                                             .on_revoked = on_revoked};
    assert_int_equal(kafka_consumer_new(&options, &w->consumer, NULL), 0);
    decider_set_consumer(w->decider, w->consumer);
    fake_assign_range(w->consumer, &COMMANDS_TOPIC, 0, PARTITIONS - 1);
    begin(w);
    return w;
}

TEAR_DOWN(struct world *w) {
    decider_stop(w->decider);
    FAKE_UNTIL(&w->loop, !decider_busy(w->decider));
    decider_free(w->decider);
    w->decider = NULL;
    kafka_consumer_free(w->consumer);
}

static void command(const char *letters, int32_t partition) {
    for (; *letters; letters++) fake_append(&COMMANDS_TOPIC, partition, "k", 1, letters, 1);
}

static bool is_read(const struct world *w, int64_t next) {
    return decider_next(w->decider, &COMMANDS_TOPIC, 0) == next && !decider_queued(w->decider);
}

static int commits(void) { return fake_calls(FAKE_TRANSACTION_COMMIT); }

/* ---- tests ---- */

TEST(what_is_not_wanted_is_passed_by_and_positions_move_once_a_second, struct world *w) {
    command("xxxxx", 0);
    FAKE_UNTIL(&w->loop, is_read(w, 5));
    assert_true(!w->reads && !w->decided && !commits());
    FAKE_UNTIL(&w->loop, (decider_second(w->decider), fake_committed(&COMMANDS_TOPIC, 0) == 5));
    assert_int_equal(commits(), 1);
    FAKE_UNTIL(&w->loop, !decider_busy(w->decider));
    assert_int_equal(decider_committed(w->decider, &COMMANDS_TOPIC, 0), 5);
    for (int i = 0; i < 5; i++) {
        decider_second(w->decider); // nothing has moved
        fake_turn(&w->loop);
    }
    assert_int_equal(commits(), 1);
    assert_false(decider_committing(w->decider));
}

TEST(nothing_is_committed_while_nothing_is_written_but_once_a_second, struct world *w) {
    for (int i = 0; i < 5; i++) {
        command("q", 0);
        FAKE_UNTIL(&w->loop, is_read(w, i + 1));
    }
    assert_true(w->decided == 5 && !commits() && !decider_committing(w->decider));
    command("w", 0); // a record: at once
    FAKE_UNTIL(&w->loop, fake_committed(&COMMANDS_TOPIC, 0) == 6);
    assert_int_equal(commits(), 1);
    assert_int_equal(fake_count(&WRITTEN, 0), 1);
}

TEST(more_than_a_transaction_holds_is_committed_in_several, struct world *w) {
    command("qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq", 0);
    FAKE_UNTIL(&w->loop, is_read(w, 35));
    FAKE_UNTIL(&w->loop, (decider_second(w->decider), fake_committed(&COMMANDS_TOPIC, 0) == 35));
    assert_true(commits() >= 3);
    assert_int_equal(w->decided, 35);
}

TEST(what_is_in_memory_alone_holds_the_position, struct world *w) {
    command("xqhq", 0);
    command("q", 1);
    FAKE_UNTIL(&w->loop, is_read(w, 4));
    FAKE_UNTIL(&w->loop, (decider_second(w->decider), fake_committed(&COMMANDS_TOPIC, 0) == 2));
    FAKE_UNTIL(&w->loop, (decider_second(w->decider), fake_committed(&COMMANDS_TOPIC, 1) == 1));
    command("xh", 0);
    FAKE_UNTIL(&w->loop, is_read(w, 6));
    decider_second(w->decider);
    FAKE_UNTIL(&w->loop, !decider_busy(w->decider));
    assert_int_equal(fake_committed(&COMMANDS_TOPIC, 0), 2);
    w->write_at_the_end = true;
    FAKE_UNTIL(&w->loop, (decider_second(w->decider), fake_committed(&COMMANDS_TOPIC, 0) == 6));
    assert_int_equal(fake_count(&WRITTEN, 0), 1);
    int64_t next;
    struct fake_record last = fake_record_at(&OFFSETS, 0, fake_count(&OFFSETS, 0) - 1);
    assert_int_equal(command_offset_get(last.value, last.value_size, &next), 0);
    assert_int_equal(next, 6);
}

TEST(what_is_written_while_a_position_is_held_is_bound_to_the_group, struct world *w) {
    command("h", 0);
    command("w", 1);
    w->kept = 0;
    FAKE_UNTIL(&w->loop, fake_count(&WRITTEN, 0) == 1);
    assert_int_equal(fake_committed(&COMMANDS_TOPIC, 1), 1);
    command("h", 0);
    FAKE_UNTIL(&w->loop, (decider_second(w->decider), decider_next(w->decider, &COMMANDS_TOPIC, 0) == 2));
    fake_fail(FAKE_TRANSACTION_COMMIT, -ESTALE, 1);
    command("w", 0);
    FAKE_UNTIL(&w->loop, w->resets == 1);
    assert_int_equal(w->forgotten, 1);
    assert_int_equal(fake_count(&WRITTEN, 0), 1);
}

struct outcome {
    int calls, code;
};

static void note(void *context, int code) {
    struct outcome *outcome = context;
    outcome->calls++;
    outcome->code = code;
}

TEST(who_waits_for_a_command_that_writes_nothing_is_told_at_once, struct world *w) {
    struct outcome outcome = {0};
    assert_int_equal(decider_await(w->decider, &COMMANDS_TOPIC, 0, 1, clock_monotonic_us() + 60000000, &outcome, note),
                     0);
    command("hq", 0);
    FAKE_UNTIL(&w->loop, outcome.calls);
    assert_int_equal(outcome.code, 0);
    assert_int_equal(fake_committed(&COMMANDS_TOPIC, 0), 0); // all the same
}

TEST(a_dead_letter_is_committed, struct world *w) {
    command("b", 0);
    FAKE_UNTIL(&w->loop, fake_committed(&COMMANDS_TOPIC, 0) == 1);
    assert_int_equal(fake_dead_count(&COMMANDS_TOPIC), 1);
}

TEST(a_transaction_without_records_is_no_failure_when_the_partitions_go, struct world *w) {
    command("h", 0);
    FAKE_UNTIL(&w->loop, is_read(w, 1));
    fake_revoke(w->consumer, false);
    assert_int_equal(w->forgotten, 1);
    FAKE_UNTIL(&w->loop, !decider_busy(w->decider));
    assert_true(w->metrics.failed->value == 0);
    decider_second(w->decider); // nothing is begun, so nothing is opened
    assert_false(decider_committing(w->decider));
    assert_int_equal(decider_next(w->decider, &COMMANDS_TOPIC, 0), -1);
    fake_assign_range(w->consumer, &COMMANDS_TOPIC, 0, PARTITIONS - 1);
    begin(w);
    FAKE_UNTIL(&w->loop, w->decided == 2); // once more
}

static void fenced(void *context, int code) { *(int *)context = code; }

TEST(a_fence_ends_a_transaction_without_records, struct world *w) {
    static const int32_t ALL[] = {0, 1};
    int code = 1;
    command("q", 0);
    FAKE_UNTIL(&w->loop, is_read(w, 1));
    while (decider_fence(w->decider, ALL, 2, &code, fenced) == -EAGAIN) fake_turn(&w->loop);
    FAKE_UNTIL(&w->loop, code <= 0);
    assert_int_equal(code, 0);
}
