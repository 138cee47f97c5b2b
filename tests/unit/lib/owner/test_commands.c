/* Tests answers.c. An owner with a real decider: where commands begin, and that each is decided once, whoever comes and goes. */
#include "decider/command_offset.h"
#include "decider/decider.h"
#include "fakes/kafka.h"
#include "owner/owner.h"
#include "unit/kit/kit.h"
#include "unit/lib/owner/beats.h"

enum { PARTITIONS = 2, REQUESTS = 100 };

static const struct topic ADDING = {.name = "adding", .cleanup = TOPIC_DELETED, .retention_ms = 1000};
static const struct topic SUMS = {.name = "sums", .cleanup = TOPIC_COMPACTED, .retention_ms = 1000};
static const struct topic OFFSETS = {.name = "offsets", .cleanup = TOPIC_COMPACTED, .retention_ms = 1000};
static const struct topic *const ALL[] = {&ADDING, &SUMS, &OFFSETS};
static const struct topic_list TOPICS = {ALL, ARRAY_SIZE(ALL)};
static const struct owner_topic OWNED[] = {{&ADDING, OWNER_COMMAND, false}, {&SUMS, OWNER_STATE, false}};
static const struct topic *const COMMANDS[] = {&ADDING};
static const struct decider_state STATES[] = {{&SUMS, 8, sizeof(int64_t)}};

/* A product that keeps a sum for each partition. A command is "5 77": adds 5, once for request 77. State is "sum" and "#77", each
 * with the sum after the command. */
struct sum {
    bool known;
    int64_t value;
};

struct change {
    int amount, request;
};

struct world {
    uv_loop_t loop;
    struct kafka_settings settings;
    struct metrics *metrics;
    struct epochs *epochs;
    struct decider *decider;
    struct owner *owner;
    struct owner_beats beats;
    struct sum sums[PARTITIONS], requests[PARTITIONS][REQUESTS];
    size_t decided[PARTITIONS], read[PARTITIONS];
    int64_t again; /* where a state that was just attached is wanted from */
    bool live[PARTITIONS], applies;
    int waited; /* what whoever waits for an outcome has heard; 1: nothing */
};

/* ---- deciding ---- */

static int read_command(void *context, const struct kafka_record *record, void *item, struct error *error) {
    struct change *change = item;
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)record->value_size, (const char *)record->value);
    return sscanf(text, "%d %d", &change->amount, &change->request) == 2 ? 0 : error_set(error, -EBADMSG, "what?");
}

/* The overlay's keys name the partition, too: it is one for all. */
static struct sum find(struct world *w, int32_t p, const char *key, struct sum stored) {
    char name[16];
    snprintf(name, sizeof name, "%d%s", (int)p, key);
    const int64_t *newest = overlay_find(decider_overlay(w->decider, &SUMS), name, strlen(name), NULL);
    return newest ? (struct sum){true, *newest} : stored;
}

static int put(struct world *w, int32_t p, const char *key, int64_t sum) {
    char name[16], text[24];
    snprintf(name, sizeof name, "%d%s", (int)p, key);
    int size = snprintf(text, sizeof text, "%lld", (long long)sum);
    overlay_put(decider_overlay(w->decider, &SUMS), p, 0, name, strlen(name), &sum, sizeof sum);
    return decider_write(w->decider, &SUMS, p, key, strlen(key), text, (size_t)size);
}

static int decide(void *context, struct decider_command *commands, size_t count, struct error *error) {
    struct world *w = context;
    int code = 0;
    for (size_t i = 0; !code && i < count; i++) {
        const struct change *change = commands[i].item;
        int32_t p = commands[i].partition;
        char request[8];
        snprintf(request, sizeof request, "#%d", change->request);
        if (find(w, p, request, w->requests[p][change->request]).known) continue;
        int64_t sum = find(w, p, "sum", w->sums[p]).value + change->amount;
        w->decided[p]++;
        code = put(w, p, "sum", sum);
        if (!code) code = put(w, p, request, sum);
    }
    return code;
}

static void handled(void *context) {
    struct world *w = context;
    if (w->owner) owner_progress(w->owner);
}

static void reset(void *context) {
    struct world *w = context;
    if (w->owner) owner_commands_lost(w->owner);
}

/* ---- the owner's product ---- */

static int attach(void *context, int32_t p, int64_t *from, struct error *error) {
    struct world *w = context;
    w->sums[p] = (struct sum){.known = false};
    memset(w->requests[p], 0, sizeof w->requests[p]);
    from[0] = KAFKA_OFFSET_BEGINNING;
    return 0;
}

static void detach(void *context, int32_t p) { ((struct world *)context)->live[p] = false; }

static void own(void *context, int32_t p, bool fresh, const int64_t *told, int64_t *again) {
    struct world *w = context;
    if (fresh) again[0] = w->again;
}

static void state(void *context, const struct kafka_record *records, size_t count) {
    struct world *w = context;
    for (size_t i = 0; i < count; i++) {
        int32_t p = records[i].partition;
        char key[8], text[24];
        snprintf(key, sizeof key, "%.*s", (int)records[i].key_size, (const char *)records[i].key);
        snprintf(text, sizeof text, "%.*s", (int)records[i].value_size, (const char *)records[i].value);
        struct sum *sum = key[0] == '#' ? &w->requests[p][atoi(key + 1)] : &w->sums[p];
        *sum = (struct sum){true, strtoll(text, NULL, 10)};
        w->read[p]++;
        decider_read_back(w->decider, &SUMS, p, records[i].offset + 1);
    }
}

static void nothing(void *context) {}
static void nothing_of(void *context, int32_t p) {}
static void nothing_old(void *context, int64_t now_us) {}
static bool never(void *context) { return false; }
static bool lost(void *context, size_t number, int32_t p) { return false; }
static int64_t unapplied(void *context, int32_t p) { return 0; }

static bool reached(void *context, int32_t p, const int64_t *ends) {
    struct world *w = context;
    return w->applies && owner_reached(w->owner, 0, p, ends[0]);
}

static void live(void *context, int32_t p) { ((struct world *)context)->live[p] = true; }

static void prepared(void *context) {
    if (owner_join(((struct world *)context)->owner, &failure)) fail_msg("%s", failure.text);
}

static void failed(void *context, const char *doing, const struct error *error) {
    fail_msg("%s: %s", doing, error->text);
}

static const struct owner_product PRODUCT = {
    .open = attach,
    .close = detach,
    .activate = own,
    .stand_by = nothing_of,
    .state = state,
    .state_idle = nothing,
    .state_lost = lost,
    .reached = reached,
    .unapplied = unapplied,
    .live = live,
    .flush_old = nothing_old,
    .flush = nothing,
    .settle = nothing,
    .blocked = never,
    .prepared = prepared,
    .drained = nothing,
    .failed = failed,
};

/* ---- the world ---- */

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    fake_kafka_start();
    for (size_t i = 0; i < ARRAY_SIZE(ALL); i++) fake_topic(ALL[i], PARTITIONS);
    kit_loop(&w->loop);
    w->settings = (struct kafka_settings){.topics = &TOPICS, .bootstrap = "fake", .prefix = "", .client_id = "me"};
    w->metrics = kit_metrics();
    w->epochs = kit_epochs();
    w->applies = true;
    w->again = KAFKA_OFFSET_NONE;
    w->waited = 1;
    return w;
}

static void start_decider(struct world *w) {
    struct metric *any = metrics_gauge(w->metrics, "test_decider", "Anything", NULL);
    struct decider_options options = {
        .loop = &w->loop,
        .settings = &w->settings,
        .metrics = {any, any, any, any, any, any},
        .transactional_id = "id",
        .partitions = PARTITIONS,
        .commands = COMMANDS,
        .command_count = ARRAY_SIZE(COMMANDS),
        .states = STATES,
        .state_count = ARRAY_SIZE(STATES),
        .offsets = &OFFSETS,
        .batch = 100,
        .item_size = sizeof(struct change),
        .context = w,
        .read = read_command,
        .decide = decide,
        .on_handled = handled,
        .on_reset = reset,
    };
    w->decider = decider_new(&options);
}

static void start(struct world *w) {
    start_decider(w);
    struct owner_options options = {
        .loop = &w->loop,
        .kafka = &w->settings,
        .metrics = w->metrics,
        .prefix = "test",
        .group = "g",
        .instance_id = "",
        .partitions = PARTITIONS,
        .topics = OWNED,
        .topic_count = ARRAY_SIZE(OWNED),
        .offsets = &OFFSETS,
        .queue_max = 1000,
        .epochs = w->epochs,
        .decider = w->decider,
        .product = &PRODUCT,
        .context = w,
    };
    owner_beats_start(&w->beats, &options, &w->owner);
}

static void stop(struct world *w) {
    owner_beats_stop(&w->beats, &w->loop, &w->owner, w->decider);
    decider_free(w->decider);
    memset(w->live, 0, sizeof w->live);
    memset(w->decided, 0, sizeof w->decided);
}

TEAR_DOWN(struct world *w) {
    if (w->owner) stop(w);
}

static int64_t add(int32_t partition, int amount, int request) {
    char text[32];
    snprintf(text, sizeof text, "%d %d", amount, request);
    return fake_append(&ADDING, partition, "k", 1, text, strlen(text));
}

/* Another owner has decided a command: writes its state, and how far it was. */
static void other_decided(int32_t partition, const char *request, const char *sum, int64_t next) {
    uint8_t value[COMMAND_OFFSET_BYTES];
    fake_append(&SUMS, partition, "sum", 3, sum, strlen(sum));
    fake_append(&SUMS, partition, request, strlen(request), sum, strlen(sum));
    fake_append(&OFFSETS, partition, ADDING.name, strlen(ADDING.name), value, command_offset_put(value, next));
}

static void assign(int32_t first, int32_t last) { fake_assign_range(fake_member(0), &ADDING, first, last); }

static void some_turns(struct world *w) {
    for (int i = 0; i < 30; i++) fake_turn(&w->loop);
}

TEST(test_an_open_transaction_of_others_is_shown, struct world *w) {
    struct kafka_producer *foreign = NULL;
    struct kafka_producer_options options = {.loop = &w->loop, .settings = &w->settings, .transactional_id = "foreign"};
    start(w);
    assign(0, 0);
    FAKE_UNTIL(&w->loop, owner_ready(w->owner));
    const struct metric *held = metrics_gauge(w->metrics, "test_commands_held_seconds", "", NULL);
    assert_int_equal(kafka_producer_new(&options, &foreign, NULL), 0);
    assert_int_equal(kafka_transactions_init(foreign, 1000, NULL), 0);
    assert_int_equal(kafka_transaction_begin(foreign, NULL, NULL), 0);
    assert_int_equal(kafka_producer_send(foreign, &ADDING, 0, "k", 1, "7 7", 3, NULL), 0);
    add(0, 5, 2);
    FAKE_UNTIL(&w->loop, held->value > 0);
    assert_int_equal(w->decided[0], 0);
    assert_int_equal(kafka_transaction_abort(foreign, 1000, NULL), 0);
    FAKE_UNTIL(&w->loop, w->decided[0] == 1 && held->value == 0);
    kafka_producer_free(foreign, 0);
}

/* ---- where commands begin ---- */

TEST(test_commands_wait_until_state_is_read, struct world *w) {
    other_decided(0, "#1", "7", 0);
    add(0, 5, 2);
    w->applies = false;
    start(w);
    assign(0, 0);
    FAKE_UNTIL(&w->loop, w->read[0] == 2);
    some_turns(w);
    assert_int_equal(w->decided[0], 0);
    assert_false(owner_ready(w->owner));
    w->applies = true;
    FAKE_UNTIL(&w->loop, w->sums[0].value == 12);
    FAKE_UNTIL(&w->loop, owner_ready(w->owner));
    assert_int_equal(fake_committed(&ADDING, 0), 1);
}

/* The former owner's last transaction ends while this one asks. The ends are asked for after the committed offsets, so that what was
 * written for the commands before these is below them. */
static void decided_while_asked(struct world *w, enum fake_call call) {
    int64_t offset = add(0, 5, 1);
    add(0, 1, 2);
    fake_gate(call, true);
    start(w);
    assign(0, 0);
    FAKE_UNTIL(&w->loop, fake_waiting(call) == 1);
    other_decided(0, "#1", "5", offset + 1);
    fake_commit(&ADDING, 0, offset + 1);
    fake_gate(call, false);
    FAKE_UNTIL(&w->loop, w->decided[0]);
    FAKE_UNTIL(&w->loop, owner_commands_current(w->owner));
    FAKE_UNTIL(&w->loop, w->sums[0].value == 6);
    assert_int_equal(w->decided[0], 1);
}

TEST(test_commands_that_were_decided_while_offsets_were_asked_for, struct world *w) {
    decided_while_asked(w, FAKE_COMMITTED);
}

TEST(test_commands_that_were_decided_while_ends_were_asked_for, struct world *w) { decided_while_asked(w, FAKE_ENDS); }

/* A former leader of the state, cut off from the other brokers, names an end before what its successor has acknowledged to the former
 * owner. */
TEST(test_ends_of_a_leader_that_was_cut_off_are_not_believed, struct world *w) {
    fake_cut_off(&SUMS, 0, true);
    int64_t offset = add(0, 5, 1);
    other_decided(0, "#1", "5", offset + 1);
    fake_commit(&ADDING, 0, offset + 1);
    add(0, 1, 2);
    start(w);
    assign(0, 0);
    FAKE_UNTIL(&w->loop, fake_calls(FAKE_ABORT) == 1);
    some_turns(w);
    assert_int_equal(w->decided[0], 0);
    fake_cut_off(&SUMS, 0, false);
    FAKE_UNTIL(&w->loop, w->sums[0].value == 6 && owner_ready(w->owner));
}

/* What another owner writes meanwhile is behind the end that was found. */
TEST(test_an_end_that_was_found_before_another_owner_is_not_believed, struct world *w) {
    start(w);
    fake_gate(FAKE_ABORT, true);
    assign(0, 0);
    FAKE_UNTIL(&w->loop, fake_waiting(FAKE_ABORT) == 1);
    assign(1, 1);
    fake_cut_off(&SUMS, 0, true);
    int64_t offset = add(0, 5, 1);
    other_decided(0, "#1", "5", offset + 1);
    fake_commit(&ADDING, 0, offset + 1);
    add(0, 1, 2);
    assign(0, 1);
    fake_gate(FAKE_ABORT, false);
    FAKE_UNTIL(&w->loop, fake_calls(FAKE_ABORT) == 2);
    some_turns(w);
    assert_int_equal(w->decided[0], 0);
    fake_cut_off(&SUMS, 0, false);
    FAKE_UNTIL(&w->loop, w->sums[0].value == 6 && owner_ready(w->owner));
}

static void an_end_is_looked_for_again(struct world *w) {
    add(0, 5, 1);
    start(w);
    assign(0, 1);
    FAKE_UNTIL(&w->loop, w->sums[0].value == 5 && owner_ready(w->owner));
    assert_true(fake_calls(FAKE_ABORT) > 1);
}

TEST(test_an_end_is_looked_for_again_when_a_record_fails, struct world *w) {
    fake_fail_reports(1, -ETIMEDOUT, false);
    an_end_is_looked_for_again(w);
}

TEST(test_an_end_is_looked_for_again_when_the_transaction_does_not_end, struct world *w) {
    fake_fail(FAKE_ABORT, -EIO, 1);
    an_end_is_looked_for_again(w);
}

/* The keys of what was decided are not there any more (the product has let them go): only the offset says that it was. */
static void begins_behind(struct world *w, int64_t committed, int64_t written) {
    uint8_t value[COMMAND_OFFSET_BYTES];
    for (int i = 0; i < 6; i++) add(0, 1, i);
    fake_append(&SUMS, 0, "sum", 3, "5", 1);
    fake_append(&OFFSETS, 0, ADDING.name, strlen(ADDING.name), value, command_offset_put(value, written));
    if (committed >= 0) fake_commit(&ADDING, 0, committed);
    start(w);
    assign(0, 0);
    FAKE_UNTIL(&w->loop, w->sums[0].value == 6);
    FAKE_UNTIL(&w->loop, owner_commands_current(w->owner));
    assert_int_equal(w->decided[0], 1);
}

TEST(test_a_deleted_group_decides_nothing_twice, struct world *w) { begins_behind(w, -1, 5); }

TEST(test_an_older_offset_of_the_group_decides_nothing_twice, struct world *w) { begins_behind(w, 2, 5); }

TEST(test_an_older_record_of_the_offset_decides_nothing_twice, struct world *w) { begins_behind(w, 5, 2); }

/* ---- keys ---- */

TEST(test_a_repeated_key_has_its_first_outcome_also_after_a_take_over, struct world *w) {
    start(w);
    assign(0, 0);
    add(0, 5, 1);
    add(0, 7, 1); // in the same transaction, or before the first one is read back
    add(0, 1, 2);
    FAKE_UNTIL(&w->loop, w->sums[0].value == 6);
    stop(w);
    add(0, 9, 1);
    add(0, 1, 3);
    start(w);
    assign(0, 0);
    FAKE_UNTIL(&w->loop, w->sums[0].value == 7);
    assert_int_equal(w->decided[0], 1);
    assert_int_equal(w->requests[0][1].value, 5);
}

/* ---- transactions ---- */

static void transaction_fails(struct world *w, int code) {
    start(w);
    assign(0, 1);
    add(0, 1, 1);
    FAKE_UNTIL(&w->loop, w->sums[0].value == 1);
    fake_fail(FAKE_TRANSACTION_COMMIT, code, 1);
    add(0, 2, 2);
    add(1, 4, 1);
    FAKE_UNTIL(&w->loop, w->sums[0].value == 3 && w->sums[1].value == 4);
    FAKE_UNTIL(&w->loop, owner_ready(w->owner));
    assert_true(w->decided[0] >= 2);
    add(0, 8, 3);
    FAKE_UNTIL(&w->loop, w->sums[0].value == 11);
}

TEST(test_a_transaction_that_was_aborted_is_decided_again, struct world *w) { transaction_fails(w, -EAGAIN); }

TEST(test_a_producer_that_is_replaced_goes_on, struct world *w) { transaction_fails(w, -EIO); }

TEST(test_a_commit_without_answer_is_not_decided_again, struct world *w) {
    start(w);
    assign(0, 0);
    FAKE_UNTIL(&w->loop, owner_ready(w->owner));
    fake_commit_unanswered(true);
    add(0, 2, 1);
    FAKE_UNTIL(&w->loop, w->sums[0].value == 2);
    add(0, 3, 2);
    FAKE_UNTIL(&w->loop, w->sums[0].value == 5);
    assert_int_equal(w->decided[0], 2);
}

/* ---- partitions come and go ---- */

TEST(test_commands_of_a_revoked_partition_are_not_decided, struct world *w) {
    start(w);
    assign(0, 1);
    FAKE_UNTIL(&w->loop, owner_ready(w->owner));
    fake_gate(FAKE_TRANSACTION_COMMIT, true);
    add(1, 5, 1);
    FAKE_UNTIL(&w->loop, fake_waiting(FAKE_TRANSACTION_COMMIT) == 1);
    add(1, 5, 2); // queued behind the one that is being committed
    some_turns(w);
    assign(0, 0);
    fake_gate(FAKE_TRANSACTION_COMMIT, false);
    add(1, 5, 3);
    add(0, 1, 1);
    FAKE_UNTIL(&w->loop, w->sums[0].value == 1);
    some_turns(w);
    assert_int_equal(w->decided[1], 1); // and that one was bound to the assignment that is gone
    assert_int_equal(fake_count(&SUMS, 1), 0);
    assert_int_equal(fake_committed(&ADDING, 1), KAFKA_OFFSET_NONE);
    assign(0, 1);
    FAKE_UNTIL(&w->loop, w->sums[1].value == 15);
}

static void heard(void *context, int code) { ((struct world *)context)->waited = code; }

TEST(test_whoever_waits_hears_that_somebody_else_decides, struct world *w) {
    start(w);
    assign(0, 1);
    FAKE_UNTIL(&w->loop, owner_ready(w->owner));
    int64_t deadline_us = clock_monotonic_us() + 60000000;
    assert_int_equal(decider_await(w->decider, &ADDING, 1, 0, deadline_us, w, heard), 0);
    assign(0, 1);
    FAKE_UNTIL(&w->loop, owner_ready(w->owner));
    assert_int_equal(w->waited, 1);
    assign(0, 0);
    assert_int_equal(w->waited, -ESTALE);
}

/* ---- an owner without inputs ---- */

/* Its place in the group is known by answers to commits, and it has no offsets of inputs to commit. */
TEST(test_an_owner_without_inputs_answers_as_long_as_it_hears_its_group, struct world *w) {
    fake_session(200, false);
    start(w);
    assign(0, 0);
    FAKE_UNTIL(&w->loop, owner_serves(w->owner, 0) == 0);
    assert_int_equal(owner_serves(w->owner, 1), -ESTALE);
    fake_session(200, true);
    FAKE_UNTIL(&w->loop, owner_serves(w->owner, 0) == -EAGAIN);
    fake_session(200, false);
    FAKE_UNTIL(&w->loop, owner_serves(w->owner, 0) == 0);
    assert_int_equal(fake_committed(&ADDING, 0), KAFKA_OFFSET_NONE); // where commands go on is for transactions to say
}

TEST(test_a_product_may_want_an_older_offset_of_what_was_just_attached, struct world *w) {
    for (int i = 0; i < 5; i++) fake_append(&SUMS, 0, "sum", 3, "1", 1);
    w->again = 3;
    start(w);
    assign(0, 0);
    FAKE_UNTIL(&w->loop, w->live[0]);
    assert_int_equal(w->read[0], 2);
}
