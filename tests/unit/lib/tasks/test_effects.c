/* How far effects are carried out: what the group is told, and from where they are repeated. */
#include "base/chance.h"
#include "tasks/effects.h"
#include "unit/kit/kit.h"

enum { STATES = 2, PARTITIONS = 3 };

static const struct topic RED = {.name = "red"}, BLUE = {.name = "blue"};
static const struct topic *const TOPICS[STATES] = {&RED, &BLUE};

struct world {
    struct epochs *epochs;
    struct task_effects *effects;
};

static void world_close(void *it) {
    struct world *w = it;
    task_effects_free(w->effects);
}

static struct world *world_new(void) {
    struct world *w = kit_zero(sizeof *w);
    *w = (struct world){.epochs = kit_epochs()};
    w->effects = task_effects_new(TOPICS, STATES, PARTITIONS, w->epochs);
    kit_after(world_close, w);
    return w;
}

static void close_epoch(struct world *w) {
    task_effects_note(w->effects);
    assert_true(epochs_close(w->epochs));
}

/* The committed offset of a state, -1: it is not among the positions. */
static int64_t committed(struct world *w, const struct topic *topic, int32_t partition, bool again) {
    const struct kafka_position *positions;
    size_t count = task_effects_settled(w->effects, again, &positions);
    for (size_t i = 0; i < count; i++) {
        if (positions[i].topic == topic && positions[i].partition == partition) return positions[i].offset;
    }
    return -1;
}

SET_UP() { return world_new(); }

TEST(test_only_live_partitions_have_effects, struct world *w) {
    assert_false(task_effects_due(w->effects, 0, 1, 10));
    task_effects_live(w->effects, 1, (const int64_t[]){10, 20});
    assert_false(task_effects_due(w->effects, 0, 1, 9));
    assert_true(task_effects_due(w->effects, 0, 1, 10));
    assert_false(task_effects_due(w->effects, 0, 1, 10)); // once
    assert_true(task_effects_due(w->effects, 1, 1, 25));  // offsets have gaps
    task_effects_stop(w->effects, 1);
    assert_false(task_effects_due(w->effects, 0, 1, 11));
}

TEST(test_commits_what_is_acknowledged, struct world *w) {
    task_effects_live(w->effects, 0, (const int64_t[]){0, 0});
    assert_true(task_effects_due(w->effects, 0, 0, 0));
    uint64_t epoch = epochs_expect(w->epochs);
    close_epoch(w);
    assert_true(task_effects_due(w->effects, 0, 0, 1)); // of the next epoch
    assert_int_equal(committed(w, &RED, 0, false), 0);
    epochs_acknowledge(w->epochs, epoch);
    assert_int_equal(committed(w, &RED, 0, false), 1);
    assert_int_equal(committed(w, &RED, 0, false), -1); // told already
    assert_int_equal(committed(w, &RED, 0, true), 1);   // once more, to be sure
    close_epoch(w);
    assert_int_equal(committed(w, &RED, 0, false), 2);
}

TEST(test_held_effects_are_not_committed, struct world *w) {
    task_effects_live(w->effects, 0, (const int64_t[]){0, 0});
    for (int64_t i = 0; i < 5; i++) assert_true(task_effects_due(w->effects, 1, 0, i));
    task_effects_hold(w->effects, 1, 0, 3);
    close_epoch(w);
    assert_int_equal(committed(w, &BLUE, 0, false), 3);
    task_effects_hold(w->effects, 1, 0, INT64_MAX);
    close_epoch(w);
    assert_int_equal(committed(w, &BLUE, 0, false), 5);
}

/* The ends of transactions have offsets too. */
TEST(test_what_has_no_effects_is_passed, struct world *w) {
    task_effects_pass(w->effects, 0, 0, 5);
    assert_true(task_effects_next(w->effects, 0, 0) == INT64_MAX);
    task_effects_live(w->effects, 0, (const int64_t[]){3, 3});
    assert_true(task_effects_due(w->effects, 0, 0, 3));
    task_effects_pass(w->effects, 0, 0, 5);
    task_effects_pass(w->effects, 0, 0, 4); // it was read again from there
    assert_true(!task_effects_due(w->effects, 0, 0, 4) && task_effects_due(w->effects, 0, 0, 5));
    task_effects_pass(w->effects, 1, 0, 8);
    close_epoch(w);
    assert_int_equal(committed(w, &RED, 0, true), 6);
    assert_int_equal(committed(w, &BLUE, 0, true), 8);
}

TEST(test_goes_back_after_a_loss, struct world *w) {
    task_effects_live(w->effects, 2, (const int64_t[]){4, 0});
    assert_true(task_effects_due(w->effects, 0, 2, 4));
    epochs_expect(w->epochs);
    close_epoch(w);
    epochs_forget(w->epochs);
    task_effects_rewind(w->effects);
    assert_int_equal(task_effects_next(w->effects, 0, 2), 4);
    assert_int_equal(task_effects_next(w->effects, 0, 1), INT64_MAX);
    assert_int_equal(committed(w, &RED, 2, true), 4);
    assert_true(task_effects_due(w->effects, 0, 2, 4));
}

TEST(test_a_task_goes_on_where_the_group_knows_or_at_the_end, struct world *w) {
    int64_t from[STATES];
    task_effects_told(w->effects, 1, (const int64_t[]){10, KAFKA_OFFSET_NONE});
    task_effects_ends(w->effects, 1, (const int64_t[]){30, 40});
    task_effects_begin(w->effects, 1, from);
    assert_true(from[0] == 10 && from[1] == 40);
    task_effects_anew(w->effects, 0, 1);
    task_effects_told(w->effects, 2, (const int64_t[]){31, 0}); // of another time
    task_effects_ends(w->effects, 2, (const int64_t[]){30, 40});
    task_effects_begin(w->effects, 1, from);
    assert_int_equal(from[0], 0);
    task_effects_begin(w->effects, 2, from);
    assert_true(from[0] == 30 && from[1] == 0);
    task_effects_live(w->effects, 2, from);
    task_effects_stop(w->effects, 2);
    task_effects_ends(w->effects, 2, (const int64_t[]){50, 50});
    task_effects_begin(w->effects, 2, from);
    assert_true(from[0] == 30 && from[1] == 0); // nothing was acknowledged
}

TEST(test_effects_that_do_not_wait_until_the_task_runs, struct world *w) {
    int64_t from[STATES];
    task_effects_told(w->effects, 1, (const int64_t[]){10, KAFKA_OFFSET_NONE});
    assert_int_equal(task_effects_at_once(w->effects, 0, 1), 10);
    assert_true(task_effects_due(w->effects, 0, 1, 10) && !task_effects_due(w->effects, 1, 1, 10));
    task_effects_ends(w->effects, 1, (const int64_t[]){30, 40});
    task_effects_begin(w->effects, 1, from);
    task_effects_live(w->effects, 1, from);
    assert_int_equal(task_effects_next(w->effects, 0, 1), 11); // it has gone on
    assert_int_equal(task_effects_next(w->effects, 1, 1), 40);
    task_effects_stop(w->effects, 1);
    assert_int_equal(task_effects_at_once(w->effects, 0, 1), 10); // nothing was acknowledged
    assert_int_equal(task_effects_at_once(w->effects, 1, 1), 40);
    task_effects_told(w->effects, 2, (const int64_t[]){KAFKA_OFFSET_NONE, KAFKA_OFFSET_NONE});
    assert_int_equal(task_effects_at_once(w->effects, 0, 2), 0); // the group knew nothing
    assert_true(task_effects_due(w->effects, 0, 2, 3));
    task_effects_undo(w->effects, 0, 2, 3);
    assert_true(task_effects_due(w->effects, 0, 2, 3));
}

/* A partition that comes back counts only from the epoch on in which it did. */
TEST(test_old_epochs_say_nothing_of_a_partition_that_came_back, struct world *w) {
    task_effects_live(w->effects, 0, (const int64_t[]){0, 0});
    for (int64_t i = 0; i < 9; i++) assert_true(task_effects_due(w->effects, 0, 0, i));
    uint64_t epoch = epochs_expect(w->epochs);
    close_epoch(w);
    task_effects_stop(w->effects, 0);
    task_effects_live(w->effects, 0, (const int64_t[]){5, 0}); // another owner has committed that meanwhile
    epochs_acknowledge(w->epochs, epoch);
    assert_int_equal(committed(w, &RED, 0, false), 5);
}

/* Against a plain list: an offset may be committed only if everything before it was acknowledged. */
TEST(test_histories) {
    enum { HISTORIES = 2000, STEPS = 200, MANY = 400 };
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        struct chance chance = {.state = seed};
        struct world *w = world_new();
        uint64_t epoch_of[MANY], sent[EPOCHS_MAX * 8];
        size_t acknowledged = 0, sent_count = 0;
        int64_t next = 0, held = INT64_MAX;
        task_effects_live(w->effects, 0, (const int64_t[]){0, 0});
        for (int step = 0; step < STEPS && next < MANY; step++) {
            switch (chance_next(&chance) % 5) {
            case 0:
            case 1:
                assert_true(task_effects_due(w->effects, 0, 0, next));
                epoch_of[next++] = epochs_open(w->epochs);
                if (sent_count < sizeof sent / sizeof *sent) sent[sent_count++] = epochs_expect(w->epochs);
                break;
            case 2:
                task_effects_note(w->effects);
                epochs_close(w->epochs);
                break;
            case 3:
                if (acknowledged < sent_count) epochs_acknowledge(w->epochs, sent[acknowledged++]);
                break;
            case 4:
                held = next && chance_next(&chance) % 2 ? (int64_t)(chance_next(&chance) % (uint64_t)next) : INT64_MAX;
                task_effects_hold(w->effects, 0, 0, held);
                break;
            }
            int64_t told = committed(w, &RED, 0, false);
            for (int64_t i = 0; i < told; i++) {
                if (epoch_of[i] >= epochs_settled(w->epochs)) fail_msg("seed %llu", (unsigned long long)seed);
            }
        }
    }
}
