/* Tests tasks.c and tasks_records.c. Tasks against a scripted group: what is opened, restored, emptied and read anew, and what the
 * product hears of it. */
#include "fakes/kafka.h"
#include "tasks/tasks.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 2, P = 1, MAX_AGE_MS = 5000, FACTS_STORE = 0, OTHER_STORE, WATCHES_STORE, STORES };

static const struct topic COMMANDS = {.name = "commands", .cleanup = TOPIC_DELETED, .retention_ms = 1000};
static const struct topic FACTS = {.name = "facts", .cleanup = TOPIC_COMPACTED, .retention_ms = 1000};
static const struct topic MORE_FACTS = {.name = "more-facts", .cleanup = TOPIC_COMPACTED, .retention_ms = 1000};
static const struct topic OTHERS = {.name = "others", .cleanup = TOPIC_COMPACTED, .retention_ms = 1000};
static const struct topic WATCHES = {.name = "watches", .cleanup = TOPIC_COMPACTED, .retention_ms = 1000};
static const struct topic OFFSETS = {.name = "offsets", .cleanup = TOPIC_COMPACTED, .retention_ms = 1000};
static const struct topic *const ALL[] = {&COMMANDS, &OFFSETS, &FACTS, &MORE_FACTS, &OTHERS, &WATCHES};
static const struct topic_list TOPICS = {ALL, ARRAY_SIZE(ALL)};

/* A store that counts the records of each topic. */
struct counts {
    bool open[PARTITIONS], live[PARTITIONS];
    int64_t next[PARTITIONS][2];
    size_t records[PARTITIONS][2], gathered, written, resets, opened, touched;
    int64_t since_ms;
    bool forgives; /* a lost offset is no matter */
    int64_t unbuilt;
    size_t built;
};

struct world {
    uv_loop_t loop;
    struct log *log;
    struct kafka_settings settings;
    struct metrics *metrics;
    struct epochs *epochs;
    struct kafka_producer *producer;
    struct tasks *tasks;
    struct loop_timer *tenth, *second;
    struct ages *ages;
    struct counts stores[STORES];
    size_t changed, seen, failed, told, dropped, others_told, standbys;
    bool full;       /* there is no room for effects */
    bool no_room;    /* the next effect finds that itself */
    bool unanswered; /* what is sent is never acknowledged */
    bool fails;      /* the next effect finds that a value is damaged */
    int64_t held;    /* effects from there on take longer; INT64_MAX */
};

/* ---- kinds ---- */

static int open_part(void *store, int32_t p, int64_t now_ms, int64_t since_ms, struct error *error) {
    struct counts *counts = store;
    counts->open[p] = true;
    counts->live[p] = false;
    counts->opened++;
    counts->since_ms = since_ms;
    assert_int_equal(now_ms - since_ms, MAX_AGE_MS);
    return 0;
}

static void forget(struct counts *counts, int32_t p) {
    for (int t = 0; t < 2; t++) {
        counts->next[p][t] = -1;
        counts->records[p][t] = 0;
    }
}

static void close_part(void *store, int32_t p) {
    struct counts *counts = store;
    assert_true(counts->open[p]);
    counts->open[p] = counts->live[p] = false;
}

static void close_in_memory(void *store, int32_t p) {
    close_part(store, p);
    forget(store, p);
}

static int live(void *store, int32_t p, bool now, struct error *error) {
    ((struct counts *)store)->live[p] = now;
    return 0;
}

static int take(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                struct error *error) {
    struct counts *counts = store;
    int32_t p = record->partition;
    assert_true(counts->open[p]);
    if (record->value_size == 7 && !memcmp(record->value, "damaged", 7))
        return error_set(error, -EBADMSG, "it is damaged");
    if (record->value_size == 4 && !memcmp(record->value, "none", 4)) *reason = "it is none";
    counts->next[p][topic] = record->offset + 1;
    counts->records[p][topic]++;
    counts->gathered++;
    return 0;
}

static int64_t next(const void *store, int32_t p, size_t topic) {
    return ((const struct counts *)store)->next[p][topic];
}

static int write_all(void *store, struct error *error) {
    struct counts *counts = store;
    counts->written += counts->gathered;
    counts->gathered = 0;
    return 0;
}

static int reset(void *store, int32_t p, int64_t now_ms, struct error *error) {
    forget(store, p);
    ((struct counts *)store)->resets++;
    return 0;
}

static bool lost(void *store, int32_t p, size_t topic) {
    struct counts *counts = store;
    if (counts->forgives) counts->next[p][topic] = -1;
    return counts->forgives;
}

static int touch(void *store, int32_t p, int64_t now_ms, struct error *error) {
    ((struct counts *)store)->touched++;
    return 0;
}

static const struct state_kind ON_DISK = {.open = open_part,
                                          .close = close_part,
                                          .live = live,
                                          .take = take,
                                          .next = next,
                                          .write = write_all,
                                          .reset = reset,
                                          .lost = lost,
                                          .touch = touch};
static const struct state_kind IN_MEMORY = {
    .in_memory = true, .open = open_part, .close = close_in_memory, .live = live, .take = take};
static struct state_kind other_kind; /* ON_DISK, but for what a test changes */
static const struct state_kind *const KINDS[STORES] = {&ON_DISK, &other_kind, &IN_MEMORY};

static int64_t unbuilt(const void *store, int32_t p) { return ((const struct counts *)store)->unbuilt; }

static int build_begin(void *store, int32_t p, int64_t now_ms, void **build, struct error *error) {
    assert_false(((struct counts *)store)->live[p]);
    *build = store;
    return 0;
}

static int build_nothing(void *store, int32_t p, int64_t now_ms, void **build, struct error *error) {
    *build = NULL;
    return 0;
}

static int build_run(void *build, struct error *error) { return 7; }

static int build_end(void *store, int32_t p, void *build, int code, int64_t now_ms, struct error *error) {
    struct counts *counts = store;
    assert_true(build == store && code == 7 && counts->unbuilt);
    counts->unbuilt = 0;
    counts->built++;
    return 0;
}

/* ---- the product ---- */

static void see(void *context, const struct kafka_record *record) { ((struct world *)context)->seen++; }
static void changed(void *context) { ((struct world *)context)->changed++; }
static int tell(void *context, const struct kafka_record *record, struct error *error) {
    struct world *w = context;
    assert_true(w->stores[FACTS_STORE].gathered == 0); // it is stored
    if (w->fails) {
        w->fails = false;
        return error_set(error, -EBADMSG, "it is damaged");
    }
    w->told++;
    if (w->unanswered) epochs_expect(w->epochs);
    return 0;
}

static int tell_others(void *context, const struct kafka_record *record, struct error *error) {
    struct world *w = context;
    if (w->no_room) {
        w->no_room = false;
        return -EAGAIN;
    }
    w->others_told++;
    return 0;
}

static int64_t held(void *context, int32_t partition) { return ((struct world *)context)->held; }
static void drop(void *context, int32_t partition) { ((struct world *)context)->dropped++; }
static bool blocked(void *context) { return ((struct world *)context)->full; }
static void flush_old(void *context, int64_t now_us) {}
static void flush(void *context) {}
static void failed(void *context, const char *doing, const struct error *error) { ((struct world *)context)->failed++; }

static const struct tasks_topic OWNED[] = {
    {.topic = &COMMANDS, .role = OWNER_COMMAND},
    {.topic = &FACTS, .role = OWNER_STATE, .store = FACTS_STORE, .sees = see, .effect = tell, .held = held},
    {.topic = &MORE_FACTS, .role = OWNER_STATE, .store = FACTS_STORE, .shows_progress = true},
    {.topic = &OTHERS, .role = OWNER_STATE, .store = OTHER_STORE},
    {.topic = &WATCHES, .role = OWNER_STATE, .store = WATCHES_STORE},
};

static struct tasks_topic topics[ARRAY_SIZE(OWNED)]; /* OWNED, but for what a test changes */
static struct tasks_topic *const of_others = &topics[3];

static const struct tasks_product PRODUCT = {
    .topics = topics,
    .topic_count = ARRAY_SIZE(OWNED),
    .kinds = KINDS,
    .store_count = STORES,
    .changed = changed,
    .flush_old = flush_old,
    .flush = flush,
    .drained = flush,
    .failed = failed,
    .drop = drop,
    .blocked = blocked,
};

static void each_tenth(void *context) { owner_tenth(tasks_owner(((struct world *)context)->tasks)); }
static void each_second(void *context) { tasks_second(((struct world *)context)->tasks); }

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    other_kind = ON_DISK;
    memcpy(topics, OWNED, sizeof OWNED);
    fake_kafka_start();
    for (size_t i = 0; i < ARRAY_SIZE(ALL); i++) fake_topic(ALL[i], PARTITIONS);
    kit_loop(&w->loop);
    w->settings = (struct kafka_settings){.topics = &TOPICS, .bootstrap = "fake", .prefix = "", .client_id = "me"};
    w->held = INT64_MAX;
    w->metrics = kit_metrics();
    w->epochs = kit_epochs();
    for (size_t s = 0; s < STORES; s++)
        for (int32_t p = 0; p < PARTITIONS; p++) forget(&w->stores[s], p);
    const struct kafka_producer_options producer = {.loop = &w->loop, .settings = &w->settings};
    assert_int_equal(kafka_producer_new(&producer, &w->producer, &failure), 0);
    w->tasks = tasks_new(&w->loop, NULL, PARTITIONS, &PRODUCT, w);
    return w;
}

static void start(struct world *w) {
    void *const stores[STORES] = {&w->stores[0], &w->stores[1], &w->stores[2]};
    const struct owner_options owner = {
        .loop = &w->loop,
        .kafka = &w->settings,
        .metrics = w->metrics,
        .prefix = "test",
        .group = "g",
        .instance_id = "",
        .partitions = PARTITIONS,
        .offsets = &OFFSETS,
        .epochs = w->epochs,
        .standbys = w->standbys,
    };
    const struct tasks_options tasks = {
        .owner = &owner, .stores = stores, .ages = w->ages, .dead_letters = w->producer, .max_age_ms = MAX_AGE_MS};
    assert_int_equal(tasks_start(w->tasks, &tasks, &failure), 0);
    w->tenth = loop_timer_new(&w->loop, 1, 2, each_tenth, w);
    w->second = loop_timer_new(&w->loop, 1, 5, each_second, w);
    assert_null(fake_member(0)); // the product has not said that it may
    tasks_may_join(w->tasks);
    FAKE_UNTIL(&w->loop, fake_member(0)); // with stand-bys, it looks for theirs first
    fake_assign_range(fake_member(0), &COMMANDS, P, P);
}

TEAR_DOWN(struct world *w) {
    loop_timer_free(w->tenth);
    loop_timer_free(w->second);
    while (tasks_busy(w->tasks)) fake_turn(&w->loop);
    tasks_free(w->tasks);
    kafka_producer_free(w->producer, 0);
}

static void add(const struct topic *topic, const char *value) { fake_append(topic, P, "k", 1, value, strlen(value)); }

static bool runs(const struct world *w) { return w->stores[0].live[P] && w->stores[1].live[P] && w->stores[2].live[P]; }

/* Two records of each state are there, and the task runs. */
static void start_running(struct world *w) {
    for (size_t i = 2; i < ARRAY_SIZE(ALL); i++) {
        add(ALL[i], "one");
        add(ALL[i], "two");
    }
    start(w);
    FAKE_UNTIL(&w->loop, runs(w) && tasks_serves(w->tasks, P) == 0);
}

static size_t count(const struct world *w, size_t store, size_t topic) { return w->stores[store].records[P][topic]; }

static bool complete(const struct world *w) {
    return count(w, FACTS_STORE, 0) == 2 && count(w, FACTS_STORE, 1) == 2 && count(w, OTHER_STORE, 0) == 2 &&
           count(w, WATCHES_STORE, 0) == 2;
}

/* ---- tests ---- */

TEST(test_a_task_is_restored_before_it_runs, struct world *w) {
    start_running(w);
    assert_true(complete(w));
    assert_int_equal(w->seen, 2);
    assert_int_equal(w->changed, 0); // nobody waits for what was there before
    assert_true(tasks_serves(w->tasks, 0) == -ESTALE && tasks_serves(w->tasks, PARTITIONS) == -ESTALE);
    add(&OTHERS, "three");
    FAKE_UNTIL(&w->loop, w->changed == 1);
    assert_int_equal(w->stores[OTHER_STORE].written, 3);
    assert_false(w->stores[0].open[0]);
}

TEST(test_a_disk_goes_on_where_it_is, struct world *w) {
    w->stores[FACTS_STORE].next[P][0] = 1;
    start_running(w);
    assert_int_equal(count(w, FACTS_STORE, 0), 1);
    assert_int_equal(count(w, FACTS_STORE, 1), 2);
}

TEST(test_a_record_that_is_none_is_a_dead_letter, struct world *w) {
    start_running(w);
    add(&WATCHES, "none");
    add(&FACTS, "none");
    FAKE_UNTIL(&w->loop, fake_dead_count(&WATCHES) == 1 && fake_dead_count(&FACTS) == 1);
    assert_string_equal(fake_dead_at(&FACTS, 0).reason, "it is none");
    assert_int_equal(w->failed, 0);
}

TEST(test_a_damaged_task_is_read_anew, struct world *w) {
    start_running(w);
    error_set(&failure, -EBADMSG, "a value is damaged");
    tasks_damaged(w->tasks, P, -EIO, &failure);
    tasks_damaged(w->tasks, 0, -EBADMSG, &failure); // it is not here
    for (int i = 0; i < 5; i++) fake_turn(&w->loop);
    assert_int_equal(w->stores[FACTS_STORE].resets, 0);
    tasks_damaged(w->tasks, P, -EBADMSG, &failure);
    tasks_damaged(w->tasks, P, -EBADMSG, &failure);
    assert_true(complete(w)); // until the next turn of the loop
    FAKE_UNTIL(&w->loop, w->stores[FACTS_STORE].resets == 1);
    assert_int_equal(tasks_serves(w->tasks, P), -EAGAIN);
    FAKE_UNTIL(&w->loop, runs(w) && complete(w) && tasks_serves(w->tasks, P) == 0);
    assert_true(w->stores[FACTS_STORE].resets == 1 && w->stores[OTHER_STORE].resets == 1);
    assert_true(w->stores[WATCHES_STORE].opened == 2 && w->stores[FACTS_STORE].opened == 1);
    assert_int_equal(w->failed, 0);
}

TEST(test_a_store_that_finds_damage_while_it_takes_is_read_anew, struct world *w) {
    start_running(w);
    add(&FACTS, "damaged");
    FAKE_UNTIL(&w->loop, w->stores[FACTS_STORE].resets > 0);
    assert_int_equal(w->failed, 0);
}

TEST(test_only_the_store_whose_offset_is_lost_is_read_anew, struct world *w) {
    for (int i = 0; i < 4; i++) add(&FACTS, "gone");
    fake_delete_before(&FACTS, P, 4);
    w->stores[FACTS_STORE].next[P][0] = 1;
    start_running(w);
    assert_true(complete(w));
    assert_true(w->stores[FACTS_STORE].resets == 1 && w->stores[OTHER_STORE].resets == 0);
}

TEST(test_a_store_may_do_without_what_is_lost, struct world *w) {
    for (int i = 0; i < 4; i++) add(&FACTS, "gone");
    fake_delete_before(&FACTS, P, 4);
    w->stores[FACTS_STORE].next[P][0] = 1;
    w->stores[FACTS_STORE].forgives = true;
    start_running(w);
    FAKE_UNTIL(&w->loop, complete(w));
    assert_int_equal(w->stores[FACTS_STORE].resets, 0);
}

TEST(test_a_task_that_is_given_up_is_closed, struct world *w) {
    start_running(w);
    fake_assign_range(fake_member(0), &COMMANDS, 0, 0);
    assert_false(w->stores[0].open[P] || w->stores[1].open[P] || w->stores[2].open[P]);
    FAKE_UNTIL(&w->loop, tasks_serves(w->tasks, 0) == 0);
    add(&FACTS, "three");
    fake_assign_range(fake_member(0), &COMMANDS, P, P);
    FAKE_UNTIL(&w->loop, runs(w));
    assert_true(count(w, FACTS_STORE, 0) == 3 && count(w, WATCHES_STORE, 0) == 2);
}

static bool is_committed(int64_t offset) { return fake_committed(&FACTS, P) == offset; }

TEST(test_effects_go_on_where_the_group_knows_them_to_be, struct world *w) {
    fake_commit(&FACTS, P, 1);
    start_running(w);
    FAKE_UNTIL(&w->loop, w->told == 1 && is_committed(2));
    assert_int_equal(count(w, FACTS_STORE, 0), 2); // read once more, and not taken again
    add(&FACTS, "three");
    FAKE_UNTIL(&w->loop, w->told == 2 && is_committed(3));
}

TEST(test_progress_is_shown_where_nothing_is_carried_out, struct world *w) {
    fake_commit(&MORE_FACTS, P, 1);
    start_running(w);
    FAKE_UNTIL(&w->loop, fake_committed(&MORE_FACTS, P) == 2);
    add(&MORE_FACTS, "three");
    FAKE_UNTIL(&w->loop, fake_committed(&MORE_FACTS, P) == 3);
    w->unanswered = true;
    add(&FACTS, "three");
    FAKE_UNTIL(&w->loop, w->told == 1);
    add(&MORE_FACTS, "four");
    FAKE_UNTIL(&w->loop, count(w, FACTS_STORE, 1) == 4);
    w->unanswered = false;
    tasks_effects_lost(w->tasks);
    FAKE_UNTIL(&w->loop, fake_committed(&MORE_FACTS, P) == 4);
}

TEST(test_effects_begin_with_what_is_news, struct world *w) {
    start_running(w);
    FAKE_UNTIL(&w->loop, is_committed(2)); // the group knew nothing
    add(&OTHERS, "three");
    add(&FACTS, "three");
    FAKE_UNTIL(&w->loop, w->told == 1);
    assert_int_equal(fake_committed(&OTHERS, P), KAFKA_OFFSET_NONE);
}

TEST(test_effects_that_take_longer_are_not_committed, struct world *w) {
    start_running(w);
    w->held = 2;
    for (int i = 0; i < 3; i++) add(&FACTS, "more");
    FAKE_UNTIL(&w->loop, w->told == 3);
    for (int i = 0; i < 50; i++) fake_turn(&w->loop);
    assert_true(is_committed(2));
    w->held = INT64_MAX;
    FAKE_UNTIL(&w->loop, is_committed(5));
}

TEST(test_effects_wait_for_room, struct world *w) {
    start_running(w);
    w->full = true;
    for (int i = 0; i < 3; i++) add(&FACTS, "more");
    FAKE_UNTIL(&w->loop, count(w, FACTS_STORE, 0) == 5);
    assert_int_equal(w->told, 0);
    w->full = false;
    FAKE_UNTIL(&w->loop, w->told == 3 && is_committed(5));
}

/* The product had no room for the last two of three. */
TEST(test_effects_are_repeated_from_where_the_product_says, struct world *w) {
    start_running(w);
    FAKE_UNTIL(&w->loop, is_committed(2));
    w->held = 3;
    for (int i = 0; i < 3; i++) add(&FACTS, "more");
    FAKE_UNTIL(&w->loop, w->told == 3 && is_committed(3));
    tasks_repeat(w->tasks, &FACTS, P, 5); // nothing was carried out from there on
    tasks_repeat(w->tasks, &FACTS, P, 3);
    w->held = INT64_MAX; // what comes again counts as not carried out
    FAKE_UNTIL(&w->loop, w->told == 5 && is_committed(5));
    assert_int_equal(count(w, FACTS_STORE, 0), 5); // they are not taken again
    add(&FACTS, "six");
    FAKE_UNTIL(&w->loop, w->told == 6 && is_committed(6));
}

TEST(test_what_is_lost_is_carried_out_again, struct world *w) {
    start_running(w);
    FAKE_UNTIL(&w->loop, is_committed(2));
    w->unanswered = true;
    add(&FACTS, "three");
    FAKE_UNTIL(&w->loop, w->told == 1);
    w->unanswered = false;
    tasks_effects_lost(w->tasks);
    assert_int_equal(w->dropped, 1);
    FAKE_UNTIL(&w->loop, w->told == 2 && is_committed(3));
    assert_int_equal(count(w, FACTS_STORE, 0), 3);
}

TEST(test_an_effect_that_finds_damage_is_carried_out_later, struct world *w) {
    start_running(w);
    FAKE_UNTIL(&w->loop, is_committed(2));
    w->fails = true;
    add(&FACTS, "three");
    FAKE_UNTIL(&w->loop, w->stores[FACTS_STORE].resets == 1 && runs(w) && w->told == 1 && is_committed(3));
    assert_true(w->dropped == 1 && w->failed == 0);
}

TEST(test_a_damaged_task_that_is_given_up_comes_back_empty, struct world *w) {
    start_running(w);
    error_set(&failure, -EBADMSG, "a value is damaged");
    tasks_damaged(w->tasks, P, -EBADMSG, &failure);
    fake_assign_range(fake_member(0), &COMMANDS, 0, 0);
    assert_true(w->stores[FACTS_STORE].resets == 1 && w->stores[OTHER_STORE].resets == 1);
    assert_int_equal(w->stores[FACTS_STORE].next[P][0], -1);
    FAKE_UNTIL(&w->loop, tasks_serves(w->tasks, 0) == 0);
    assert_int_equal(w->stores[FACTS_STORE].resets, 1);
}

TEST(test_a_part_that_lacks_nothing_begins_where_effects_go_on, struct world *w) {
    other_kind.from_effects = true;
    fake_commit(&OTHERS, P, 1);
    start_running(w);
    assert_int_equal(count(w, OTHER_STORE, 0), 1);
}

TEST(test_a_task_runs_when_its_stores_are_built, struct world *w) {
    other_kind.unbuilt = unbuilt;
    other_kind.build_begin = build_begin;
    other_kind.build_run = build_run;
    other_kind.build_end = build_end;
    w->stores[OTHER_STORE].unbuilt = 2;
    start_running(w);
    assert_int_equal(w->stores[OTHER_STORE].built, 1);
}

/* The other store is never built, so that the task does not run. */
static void start_restoring(struct world *w) {
    of_others->effect = tell_others;
    of_others->at_once = true;
    other_kind.unbuilt = unbuilt;
    other_kind.build_begin = build_nothing;
    w->stores[OTHER_STORE].unbuilt = 1;
    add(&OTHERS, "one");
    add(&OTHERS, "two");
    start(w);
}

static bool others_are_committed(int64_t offset) { return fake_committed(&OTHERS, P) == offset; }

TEST(test_effects_may_be_carried_out_before_the_task_runs, struct world *w) {
    fake_commit(&OTHERS, P, 1);
    start_restoring(w);
    FAKE_UNTIL(&w->loop, w->others_told == 1 && others_are_committed(2));
    assert_int_equal(count(w, OTHER_STORE, 0), 2);
    add(&OTHERS, "three");
    FAKE_UNTIL(&w->loop, w->others_told == 2 && others_are_committed(3));
    assert_false(w->stores[FACTS_STORE].live[P]);
    w->stores[OTHER_STORE].unbuilt = 0;
    FAKE_UNTIL(&w->loop, runs(w));
    add(&OTHERS, "four");
    FAKE_UNTIL(&w->loop, w->others_told == 3 && others_are_committed(4));
}

TEST(test_such_effects_begin_with_the_first_record, struct world *w) {
    w->no_room = true;
    start_restoring(w);
    FAKE_UNTIL(&w->loop, w->others_told == 2 && others_are_committed(2)); // the group knew nothing
    assert_int_equal(w->failed, 0);
}

/* Records are read once more for effects that nobody has acknowledged, and are not taken again. */
TEST(test_such_effects_are_repeated, struct world *w) {
    of_others->effect = tell_others;
    of_others->at_once = true;
    other_kind.reset = NULL; // nothing of it is on a disk
    fake_commit(&OTHERS, P, 1);
    start_running(w);
    FAKE_UNTIL(&w->loop, w->others_told == 1 && others_are_committed(2));
    epochs_expect(w->epochs); // it holds what follows up
    add(&OTHERS, "three");
    FAKE_UNTIL(&w->loop, w->others_told == 2);
    tasks_effects_lost(w->tasks);
    FAKE_UNTIL(&w->loop, w->others_told == 3 && others_are_committed(3));
    epochs_expect(w->epochs);
    add(&OTHERS, "four");
    FAKE_UNTIL(&w->loop, w->others_told == 4);
    error_set(&failure, -EBADMSG, "a value is damaged");
    tasks_damaged(w->tasks, P, -EBADMSG, &failure);
    FAKE_UNTIL(&w->loop, w->stores[FACTS_STORE].resets == 1 && runs(w) && w->others_told == 5);
    assert_int_equal(count(w, OTHER_STORE, 0), 4);
    assert_true(others_are_committed(3));
}

/* A stand-by has read what has no effect yet; when it takes over, these records are read once more. */
TEST(test_such_effects_are_those_of_a_stand_by_that_takes_over, struct world *w) {
    w->standbys = 1;
    of_others->effect = tell_others;
    of_others->at_once = true;
    fake_commit(&OTHERS, P, 1);
    start_running(w);
    FAKE_UNTIL(&w->loop, w->others_told == 1 && others_are_committed(2));
    fake_assign_range(fake_member(0), &COMMANDS, 0, 0);
    FAKE_UNTIL(&w->loop, tasks_serves(w->tasks, P) == -ESTALE);
    add(&OTHERS, "three");
    FAKE_UNTIL(&w->loop, count(w, OTHER_STORE, 0) == 3);
    assert_int_equal(w->others_told, 1); // the owner's
    other_kind.unbuilt = unbuilt;
    other_kind.build_begin = build_nothing;
    w->stores[OTHER_STORE].unbuilt = 1;
    fake_assign_range(fake_member(0), &COMMANDS, P, P);
    FAKE_UNTIL(&w->loop, w->others_told == 2 && others_are_committed(3));
    assert_false(w->stores[FACTS_STORE].live[P]);
    assert_int_equal(count(w, OTHER_STORE, 0), 3);
}

TEST(test_what_has_no_age_is_as_old_as_its_partition, struct world *w) {
    char *folder = kit_folder();
    struct store *store;
    assert_int_equal(store_open(folder, &(struct store_options){.cache_bytes = 1 << 20}, &store, &failure), 0);
    assert_int_equal(ages_open(store, &w->ages, &failure), 0);
    int64_t old = clock_wall_ms() - MAX_AGE_MS - 1000;
    assert_int_equal(ages_touch(w->ages, P, old, true, &failure), 0);
    other_kind.touch = NULL;
    start_running(w);
    assert_true(complete(w) && w->stores[OTHER_STORE].resets == 1 && w->stores[FACTS_STORE].resets == 0);
    assert_int_equal(ages_too_old(w->ages, P, old + 1000, &failure), 0);
    fake_assign_range(fake_member(0), &COMMANDS, 0, 0);
    FAKE_UNTIL(&w->loop, tasks_serves(w->tasks, 0) == 0);
    fake_assign_range(fake_member(0), &COMMANDS, P, P);
    FAKE_UNTIL(&w->loop, runs(w));
    assert_int_equal(w->stores[OTHER_STORE].resets, 1);
    while (tasks_busy(w->tasks)) fake_turn(&w->loop);
    loop_timer_stop(w->second); // it touches the ages
    ages_close(w->ages);
    store_close(store);
}
