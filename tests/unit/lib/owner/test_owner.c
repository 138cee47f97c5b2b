/* Tests owner.c, changelogs.c, commits.c, fresh.c, inputs.c, metrics.c and standby.c. An owner against scripted groups: what it attaches,
 * restores, serves, hands on and commits, whoever comes and goes. */
#include "fakes/kafka.h"
#include "owner/owner.h"
#include "unit/kit/kit.h"
#include "unit/lib/owner/beats.h"

enum { PARTITIONS = 3, TEXT = 8 };

static const struct topic EVENTS = {.name = "events", .cleanup = TOPIC_DELETED, .retention_ms = 1000};
static const struct topic FACTS = {.name = "facts", .cleanup = TOPIC_COMPACTED, .retention_ms = 1000};
static const struct topic OFFSETS = {.name = "offsets", .cleanup = TOPIC_COMPACTED, .retention_ms = 1000};
static const struct topic *const ALL[] = {&EVENTS, &FACTS, &OFFSETS};
static const struct topic_list TOPICS = {ALL, ARRAY_SIZE(ALL)};
static const struct owner_topic OWNED[] = {{&EVENTS, OWNER_SHARED, false}, {&FACTS, OWNER_STATE, false}};
static const struct owner_topic AGED[] = {{&EVENTS, OWNER_SHARED, false}, {&FACTS, OWNER_STATE, true}};

/* A product that keeps the last fact of each partition, and remembers what was said to it. */
struct world {
    uv_loop_t loop;
    struct kafka_settings settings;
    struct metrics *metrics;
    struct log *log;
    struct epochs *epochs;
    struct owner *owner;
    struct owner_beats beats;

    bool attached[PARTITIONS], live[PARTITIONS], silent[PARTITIONS];
    int64_t stored[PARTITIONS]; /* facts are in the store up to here, also of one that is not attached; -1: nothing */
    char fact[PARTITIONS][TEXT];
    size_t restored[PARTITIONS], news[PARTITIONS], events[PARTITIONS], observed[PARTITIONS];
    int64_t told[PARTITIONS];
    uint64_t handled_in[PARTITIONS]; /* epoch in which an event was handled last */
    bool effects;                    /* events have effects, which a test acknowledges */
    bool blocked;
    size_t prepared, drained, failed, lost, fresh;
    bool applies; /* what is read can be read from the store */
    bool aged;    /* it is asked where the facts end; they are read one by one then */
};

static int attach(void *context, int32_t p, int64_t *from, struct error *error) {
    struct world *w = context;
    assert_false(w->attached[p]);
    w->attached[p] = true;
    from[0] = w->stored[p] < 0 ? KAFKA_OFFSET_BEGINNING : w->stored[p];
    return 0;
}

static void detach(void *context, int32_t p) {
    struct world *w = context;
    assert_true(w->attached[p]);
    w->attached[p] = w->live[p] = w->silent[p] = false;
}

static void own(void *context, int32_t p, bool fresh, const int64_t *told, int64_t *again) {
    struct world *w = context;
    assert_true(w->attached[p]);
    w->silent[p] = false;
    w->told[p] = told[0];
    w->fresh += fresh;
}

static void silence(void *context, int32_t p) {
    struct world *w = context;
    assert_true(w->attached[p]);
    w->live[p] = false;
    w->silent[p] = true;
}

static void state(void *context, const struct kafka_record *records, size_t count) {
    struct world *w = context;
    for (size_t i = 0; i < count; i++) {
        int32_t p = records[i].partition;
        assert_true(w->attached[p]);
        assert_ptr_equal(records[i].topic, &FACTS);
        snprintf(w->fact[p], TEXT, "%.*s", (int)records[i].value_size, (const char *)records[i].value);
        w->stored[p] = records[i].offset + 1;
        (w->live[p] ? w->news : w->restored)[p]++;
    }
    // Every record before a position was handed over: the offset that is stored with the state says the same.
    for (int32_t p = 0; p < PARTITIONS; p++) {
        int64_t position = w->attached[p] ? owner_position(w->owner, 0, p) : -1;
        if (position > 0) assert_int_equal(w->stored[p], position);
    }
}

static void idle(void *context) {}

static bool state_lost(void *context, size_t number, int32_t p) {
    struct world *w = context;
    w->lost++;
    w->stored[p] = -1;
    w->live[p] = false;
    return true;
}

static bool reached(void *context, int32_t p, const int64_t *ends) {
    struct world *w = context;
    return w->applies && owner_reached(w->owner, 0, p, ends[0]);
}

static int64_t unapplied(void *context, int32_t p) { return 0; }

static void live(void *context, int32_t p) {
    struct world *w = context;
    assert_true(w->attached[p]);
    assert_false(w->silent[p]);
    w->live[p] = true;
}

static void input(void *context, size_t number, const struct kafka_record *record, bool owned, int64_t now_us) {
    struct world *w = context;
    int32_t p = record->partition;
    assert_int_equal(owned, w->live[p]); // no event of a partition of ours comes before its state is there
    (owned ? w->events : w->observed)[p]++;
    if (owned && w->effects) w->handled_in[p] = epochs_expect(w->epochs);
}

static void flush_old(void *context, int64_t now_us) {}
static void flush(void *context) {}
static void settle(void *context) {}

static bool blocked(void *context) {
    struct world *w = context;
    return w->blocked;
}

static void prepared(void *context) {
    struct world *w = context;
    w->prepared++;
    if (owner_join(w->owner, &failure)) fail_msg("%s", failure.text);
}

static void drained(void *context) {
    struct world *w = context;
    w->drained++;
}

static void failed(void *context, const char *doing, const struct error *error) {
    struct world *w = context;
    w->failed++;
}

static const struct owner_product PRODUCT = {
    .open = attach,
    .close = detach,
    .activate = own,
    .stand_by = silence,
    .state = state,
    .state_idle = idle,
    .state_lost = state_lost,
    .reached = reached,
    .unapplied = unapplied,
    .live = live,
    .input = input,
    .flush_old = flush_old,
    .flush = flush,
    .settle = settle,
    .blocked = blocked,
    .prepared = prepared,
    .drained = drained,
    .failed = failed,
};

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    fake_kafka_start();
    fake_topic(&EVENTS, PARTITIONS);
    fake_topic(&FACTS, PARTITIONS);
    fake_topic(&OFFSETS, PARTITIONS);
    kit_loop(&w->loop);
    w->settings = (struct kafka_settings){.topics = &TOPICS, .bootstrap = "fake", .prefix = "", .client_id = "me"};
    w->metrics = kit_metrics();
    w->epochs = kit_epochs();
    w->applies = true;
    for (int p = 0; p < PARTITIONS; p++) w->stored[p] = -1;
    return w;
}

static void start(struct world *w, size_t standbys, const char *instance_id) {
    struct owner_options options = {
        .loop = &w->loop,
        .kafka = &w->settings,
        .metrics = w->metrics,
        .prefix = "test",
        .group = "g",
        .instance_id = instance_id,
        .partitions = PARTITIONS,
        .topics = w->aged ? AGED : OWNED,
        .topic_count = ARRAY_SIZE(OWNED),
        .state_batch = w->aged,
        .leaving = &FACTS,
        .offsets = &OFFSETS,
        .standbys = standbys,
        .hands_over = true,
        .epochs = w->epochs,
        .product = &PRODUCT,
        .context = w,
    };
    owner_beats_start(&w->beats, &options, &w->owner);
}

TEAR_DOWN(struct world *w) {
    if (w->owner) owner_beats_stop(&w->beats, &w->loop, &w->owner, NULL);
}

static void fact(int32_t partition, const char *text) { fake_append(&FACTS, partition, "k", 1, text, strlen(text)); }

static void event(int32_t partition) { fake_append(&EVENTS, partition, "e", 1, "x", 1); }

static void all_live(struct world *w, int32_t first, int32_t last) {
    for (int32_t p = first; p <= last; p++) FAKE_UNTIL(&w->loop, w->live[p]);
}

/* The owner has partition 0 alone, and it is live. */
static void start_live(struct world *w) {
    start(w, 0, "");
    fake_assign_range(fake_member(0), &EVENTS, 0, 0);
    all_live(w, 0, 0);
}

/* The same, and one event has been handled, whose effects nobody has acknowledged yet. */
static void start_and_handle_one(struct world *w) {
    w->effects = true;
    start_live(w);
    event(0);
    FAKE_UNTIL(&w->loop, w->events[0] == 1);
}

/* ---- join ---- */

TEST(test_restores_in_silence_before_it_handles_anything, struct world *w) {
    fact(0, "a");
    fact(0, "b");
    event(0);
    start(w, 0, "");
    FAKE_UNTIL(&w->loop, w->prepared == 1);
    assert_int_equal(owner_serves(w->owner, 0), -EAGAIN);
    fake_assign_range(fake_member(0), &EVENTS, 0, 1);
    assert_int_equal(owner_serves(w->owner, 0), -EAGAIN);
    assert_int_equal(owner_serves(w->owner, 2), -ESTALE);
    all_live(w, 0, 1);
    assert_int_equal(w->restored[0], 2);
    assert_int_equal(w->news[0], 0);
    assert_string_equal(w->fact[0], "b");
    assert_int_equal(w->told[0], KAFKA_OFFSET_NONE);
    FAKE_UNTIL(&w->loop, w->events[0] == 1);
    fact(0, "c");
    FAKE_UNTIL(&w->loop, w->news[0] == 1);
    FAKE_UNTIL(&w->loop, owner_serves(w->owner, 0) == 0);
    event(2); // somebody else's
    FAKE_UNTIL(&w->loop, w->observed[2] == 1);
    assert_false(w->attached[2]);
}

TEST(test_goes_on_where_the_group_is, struct world *w) {
    for (int i = 0; i < 10; i++) event(0);
    fake_commit(&EVENTS, 0, 7);
    fake_commit(&FACTS, 0, 3);
    w->stored[0] = 1; // its disk has the first one
    fact(0, "a");
    fact(0, "b");
    start(w, 0, "");
    fake_assign_range(fake_member(0), &EVENTS, 0, 0);
    FAKE_UNTIL(&w->loop, w->events[0] == 3);
    assert_int_equal(w->restored[0], 1);
    assert_int_equal(w->told[0], 3);
}

/* Whether /metrics has the line. */
static bool metrics_have(struct world *w, const char *line) {
    FREED_BUFFER page = {.size = 0};
    metrics_render(w->metrics, &page);
    return strstr(buffer_cstring(&page), line) != NULL;
}

#define NEXT(partition) "test_input_next_offset{topic=\"events\",partition=\"" partition "\"} "

TEST(test_metrics_say_how_far_inputs_are_handled, struct world *w) {
    for (int i = 0; i < 10; i++) event(0);
    fake_commit(&EVENTS, 0, 10);
    start(w, 0, "");
    assert_false(metrics_have(w, NEXT("0")));
    fake_assign_range(fake_member(0), &EVENTS, 0, 0);
    all_live(w, 0, 0);
    assert_true(metrics_have(w, NEXT("0") "10\n")); // nothing was handled since, and nothing is known of the others
    assert_false(metrics_have(w, NEXT("1")));
    event(0);
    FAKE_UNTIL(&w->loop, w->events[0] == 1);
    assert_true(metrics_have(w, NEXT("0") "11\n")); // at once: no timer is between
    event(1);
    FAKE_UNTIL(&w->loop, w->observed[1] == 1);
    assert_true(metrics_have(w, NEXT("1") "1\n"));
    fake_revoke(fake_member(0), false);
    FAKE_UNTIL(&w->loop, !owner_assigned(w->owner));
    assert_false(metrics_have(w, NEXT("0")));
}

TEST(test_offsets_that_cannot_be_had_are_asked_for_again, struct world *w) {
    event(0);
    fake_fail(FAKE_COMMITTED, -ETIMEDOUT, 1);
    fake_fail(FAKE_ENDS, -EHOSTDOWN, 1);
    start(w, 0, "");
    fake_assign_range(fake_member(0), &EVENTS, 0, 0);
    FAKE_UNTIL(&w->loop, fake_calls(FAKE_COMMITTED) == 2);
    assert_false(w->live[0]);
    all_live(w, 0, 0);
    assert_int_equal(w->failed, 0);
}

/* More is written than is read: the partition is live at the end that it had when that was asked, not at one that moves. */
TEST(test_a_restore_that_falls_behind_ends_where_the_end_was, struct world *w) {
    fact(0, "a");
    start(w, 0, "");
    w->applies = false;
    fake_assign_range(fake_member(0), &EVENTS, 0, 0);
    FAKE_UNTIL(&w->loop, w->restored[0] == 1);
    assert_false(w->live[0]);
    assert_int_equal(owner_ends(w->owner, 0)[0], 1);
    w->applies = true;
    fact(0, "b");
    all_live(w, 0, 0);
    assert_null(owner_ends(w->owner, 0));
    FAKE_UNTIL(&w->loop, w->restored[0] + w->news[0] == 2);
}

/* Records of how far commands are decided lie between those of the product, which hears of them in one batch all the same. */
TEST(test_a_batch_is_handed_over_whole, struct world *w) {
    for (int32_t p = 0; p < PARTITIONS; p++) {
        fact(p, "a");
        fact(p, "b");
        fake_append(&OFFSETS, p, "commands", 8, "x", 1);
    }
    start(w, 0, "");
    fake_assign_range(fake_member(0), &EVENTS, 0, 2);
    all_live(w, 0, 2);
    for (int32_t p = 0; p < PARTITIONS; p++) assert_int_equal(w->restored[p], 2);
}

/* Questions are answered as soon as the partition is live, without waiting for the next beat. */
TEST(test_a_live_partition_is_served_at_once, struct world *w) {
    start(w, 0, "");
    loop_timer_free(w->beats.second); // no beat comes
    w->beats.second = NULL;
    fake_assign_range(fake_member(0), &EVENTS, 0, 0);
    all_live(w, 0, 0);
    FAKE_UNTIL(&w->loop, owner_serves(w->owner, 0) == 0);
}

/* ---- leave and lost ---- */

TEST(test_what_is_revoked_is_committed_first, struct world *w) {
    event(0);
    event(0);
    start(w, 0, "");
    fake_assign_range(fake_member(0), &EVENTS, 0, 1);
    FAKE_UNTIL(&w->loop, w->events[0] == 2);
    FAKE_UNTIL(&w->loop, fake_committed(&EVENTS, 0) == 2);
    fake_assign_range(fake_member(0), &EVENTS, 1, 2);
    assert_false(w->attached[0]); // nobody stands by for anybody here
    assert_true(w->live[1]);      // and what stays goes on
    all_live(w, 1, 2);
    event(1);
    event(0);
    FAKE_UNTIL(&w->loop, w->events[1] == 1 && w->observed[0] == 1);
    assert_int_equal(w->events[0], 2);
}

TEST(test_nothing_of_a_lost_partition_is_kept_or_committed, struct world *w) {
    start_and_handle_one(w);
    int64_t before = fake_committed(&EVENTS, 0);
    fake_revoke(fake_member(0), true);
    assert_false(w->attached[0]);
    epochs_acknowledge(w->epochs, w->handled_in[0]);
    for (int i = 0; i < 20; i++) fake_turn(&w->loop);
    assert_int_equal(fake_committed(&EVENTS, 0), before);
    assert_int_equal(owner_serves(w->owner, 0), -EAGAIN);
    // Somebody else has handled the event meanwhile, and this process has seen it pass by.
    fake_commit(&EVENTS, 0, 1);
    fake_assign_range(fake_member(0), &EVENTS, 0, 0);
    all_live(w, 0, 0);
    event(0);
    FAKE_UNTIL(&w->loop, w->events[0] == 2);
}

/* ---- epochs ---- */

TEST(test_commits_only_what_is_acknowledged, struct world *w) {
    start_and_handle_one(w);
    uint64_t open = epochs_open(w->epochs);
    FAKE_UNTIL(&w->loop, epochs_open(w->epochs) > open + 2);
    assert_true(fake_committed(&EVENTS, 0) < 1);
    epochs_acknowledge(w->epochs, w->handled_in[0]);
    FAKE_UNTIL(&w->loop, fake_committed(&EVENTS, 0) == 1);
}

TEST(test_what_was_lost_on_its_way_is_handled_again, struct world *w) {
    start_and_handle_one(w);
    owner_effects_lost(w->owner);
    FAKE_UNTIL(&w->loop, w->events[0] == 2);
    epochs_acknowledge(w->epochs, w->handled_in[0]);
    FAKE_UNTIL(&w->loop, fake_committed(&EVENTS, 0) == 1);
}

TEST(test_inputs_wait_while_output_is_full, struct world *w) {
    start_live(w);
    w->blocked = true;
    for (int i = 0; i < 20; i++) fake_turn(&w->loop);
    event(0);
    for (int i = 0; i < 20; i++) fake_turn(&w->loop);
    assert_int_equal(w->events[0], 0);
    w->blocked = false;
    FAKE_UNTIL(&w->loop, w->events[0] == 1);
}

/* ---- state that is gone ---- */

TEST(test_a_state_that_the_topic_no_longer_has_is_read_anew, struct world *w) {
    for (int i = 0; i < 5; i++) fact(0, "a");
    fake_delete_before(&FACTS, 0, 3);
    w->stored[0] = 1; // the disk is older than what is kept
    start_live(w);
    assert_int_equal(w->lost, 1);
    assert_int_equal(w->restored[0], 2);
    assert_int_equal(w->failed, 0);
}

TEST(test_a_live_partition_can_be_restored_once_more, struct world *w) {
    fact(0, "a");
    start_live(w);
    w->live[0] = false; // the product has thrown its state away
    w->stored[0] = -1;
    owner_restore_again(w->owner, 0);
    assert_int_equal(owner_read_again(w->owner, 0, 0, KAFKA_OFFSET_BEGINNING, NULL), 0);
    event(0);
    assert_int_equal(owner_serves(w->owner, 0), -EAGAIN);
    all_live(w, 0, 0);
    assert_int_equal(w->restored[0], 2);
    FAKE_UNTIL(&w->loop, w->events[0] == 1);
}

/* ---- stand-by ---- */

TEST(test_who_joins_others_reads_their_state_first, struct world *w) {
    const struct kafka_position all[] = {{&EVENTS, 0, 0}, {&EVENTS, 1, 0}, {&EVENTS, 2, 0}};
    fact(0, "a");
    fact(2, "b");
    fake_other_member("another", NULL, "another", all, ARRAY_SIZE(all));
    w->applies = true;
    start(w, 1, "");
    FAKE_UNTIL(&w->loop, w->prepared == 1);
    assert_true(w->restored[0] + w->restored[2] > 0);
    fake_assign_range(fake_member(0), &EVENTS, 2, 2);
    all_live(w, 2, 2);
    assert_string_equal(w->fact[2], "b");
}

TEST(test_a_stand_by_takes_over_without_reading_again, struct world *w) {
    const struct kafka_position others[] = {{&EVENTS, 0, 0}, {&EVENTS, 1, 0}};
    fact(0, "a");
    start(w, 1, "");
    FAKE_UNTIL(&w->loop, w->prepared == 1); // alone
    fake_other_member("a-first-one", NULL, "x", others, ARRAY_SIZE(others));
    fake_assign_range(fake_member(0), &EVENTS, 2, 2);
    FAKE_UNTIL(&w->loop, w->silent[0]);
    FAKE_UNTIL(&w->loop, w->restored[0] == 1);
    assert_true(owner_stands_by(w->owner, 0));
    fact(0, "b"); // while it stands by
    FAKE_UNTIL(&w->loop, w->restored[0] == 2);
    FAKE_UNTIL(&w->loop, metrics_have(w, "test_partition_stage{partition=\"0\"} 2\n")); // measured once a second
    size_t fresh = w->fresh;
    fake_other_leaves("a-first-one");
    fact(0, "c"); // and one more before it owns the partition
    fake_assign_range(fake_member(0), &EVENTS, 0, 2);
    all_live(w, 0, 2);
    assert_string_equal(w->fact[0], "c");
    assert_int_equal(w->restored[0] + w->news[0], 3); // each once
    assert_true(w->fresh <= fresh + 1);               // of 0 and 1, what it stood by for was not opened anew
    // The other one comes back: what it takes is kept.
    fake_other_member("a-first-one", NULL, "x", others, ARRAY_SIZE(others));
    fake_assign_range(fake_member(0), &EVENTS, 2, 2);
    FAKE_UNTIL(&w->loop, w->silent[0]);
    fact(0, "d");
    FAKE_UNTIL(&w->loop, !strcmp(w->fact[0], "d"));
    assert_false(w->live[0]);
}

/* ---- who may answer ---- */

TEST(test_an_owner_that_does_not_hear_its_group_answers_nothing, struct world *w) {
    fake_session(200, false);
    start(w, 0, "");
    fake_assign_range(fake_member(0), &EVENTS, 0, 0);
    FAKE_UNTIL(&w->loop, owner_serves(w->owner, 0) == 0);
    int64_t began_us = clock_monotonic_us();
    fake_session(200, true); // commits are sent, and nobody answers
    FAKE_UNTIL(&w->loop, owner_serves(w->owner, 0) == -EAGAIN);
    assert_true(clock_monotonic_us() - began_us >= 50000);
    fake_session(200, false);
    FAKE_UNTIL(&w->loop, owner_serves(w->owner, 0) == 0);
}

/* ---- the end ---- */

TEST(test_drains_when_everything_is_acknowledged_and_told, struct world *w) {
    start_and_handle_one(w);
    owner_drain(w->owner);
    for (int i = 0; i < 10; i++) fake_turn(&w->loop);
    event(0); // comes too late
    assert_int_equal(w->drained, 0);
    epochs_acknowledge(w->epochs, w->handled_in[0]);
    FAKE_UNTIL(&w->loop, w->drained == 1);
    assert_int_equal(fake_committed(&EVENTS, 0), 1);
    assert_int_equal(w->events[0], 1);
}

TEST(test_a_static_member_gives_its_partitions_to_others_before_it_ends, struct world *w) {
    const struct kafka_position others[] = {{&EVENTS, 0, 0}, {&EVENTS, 1, 0}};
    const struct topic *topic = NULL;
    start(w, 1, "me-1");
    FAKE_UNTIL(&w->loop, w->prepared == 1);
    fake_other_member("other", "me-0", "x", others, ARRAY_SIZE(others));
    fake_assign_range(fake_member(0), &EVENTS, 2, 2);
    all_live(w, 2, 2);
    owner_drain(w->owner);
    FAKE_UNTIL(&w->loop, fake_handed_over(fake_member(0), &topic));
    assert_ptr_equal(topic, &FACTS);
    assert_int_equal(w->drained, 0);
    fake_assign(fake_member(0), NULL, 0); // the group has shared out what it had
    FAKE_UNTIL(&w->loop, w->drained == 1);
}

TEST(test_a_member_that_was_given_up_fails, struct world *w) {
    start_live(w);
    fake_fatal(fake_member(0), "fenced");
    assert_int_equal(w->failed, 1);
}

TEST(test_a_product_with_too_many_topics_is_refused) {
    struct owner_topic topics[17];
    struct owner *owner = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(topics); i++) topics[i] = (struct owner_topic){&FACTS, OWNER_STATE, false};
    const struct owner_options options = {.topics = topics, .topic_count = ARRAY_SIZE(topics)};
    assert_int_equal(owner_new(&options, &owner, &failure), -EINVAL);
    assert_null(owner);
}

/* ---- how old what is read is ---- */

/* Since when nothing is missing in what is read, on the clock; 0: the owner does not know. */
static int64_t read_until_us(const struct world *w, int32_t partition) {
    int64_t now_us = clock_monotonic_us(), age_ms = owner_age_ms(w->owner, partition);
    return age_ms == INT64_MAX ? 0 : now_us - age_ms * 1000;
}

TEST(test_what_is_read_is_as_old_as_the_question_where_it_ends, struct world *w) {
    w->aged = true;
    start_live(w);
    assert_int_equal(owner_age_ms(w->owner, 1), INT64_MAX); // somebody else's
    FAKE_UNTIL(&w->loop, read_until_us(w, 0) > 0);
    fake_gate(FAKE_ENDS, true);
    FAKE_UNTIL(&w->loop, fake_waiting(FAKE_ENDS) == 1);
    int64_t asked_us = clock_monotonic_us(), until_us = read_until_us(w, 0);
    assert_true(until_us < asked_us);
    FAKE_UNTIL(&w->loop, clock_monotonic_us() > asked_us + 50000);
    assert_true(read_until_us(w, 0) <= until_us + 1000); // it grows older
    fake_gate(FAKE_ENDS, false);
    fake_fail(FAKE_ENDS, -ETIMEDOUT, 1); // the next one
    FAKE_UNTIL(&w->loop, read_until_us(w, 0) > asked_us + 50000);
}

TEST(test_what_is_written_and_not_read_makes_it_old, struct world *w) {
    enum { FACTS_WRITTEN = 300 };
    w->aged = true;
    start_live(w);
    FAKE_UNTIL(&w->loop, read_until_us(w, 0) > 0);
    for (int i = 0; i < FACTS_WRITTEN; i++) fact(0, "x");
    int64_t written_us = clock_monotonic_us();
    FAKE_UNTIL(&w->loop, read_until_us(w, 0) > written_us);
    assert_int_equal(w->stored[0], FACTS_WRITTEN);
}

TEST(test_without_a_topic_that_is_counted_no_age_is_known, struct world *w) {
    start_live(w);
    assert_int_equal(owner_age_ms(w->owner, 0), INT64_MAX);
    assert_int_equal(fake_calls(FAKE_ENDS), 1); // to restore it
}
