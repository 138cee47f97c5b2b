/* The stages of an owner's partitions: how far inputs are settled, what is rewound and committed. */
#include "owner/stages.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, INPUTS = 2, RING = 8 };

/* The first input is observed, the second one is not. */
static struct stages *make(void) { return stages_new(PARTITIONS, INPUTS, (const bool[]){true, false}, RING); }

static const struct stages_answer NOTHING = {.inputs = {-1, -1}, .commands = {-1}, .states = {-1}};

/* A partition that is live, its first input read up to `next` since it began at `from`. */
static void live(struct stages *stages, int32_t partition, int64_t from, int64_t next) {
    struct stages_answer answer = NOTHING;
    answer.inputs[0] = answer.inputs[1] = from;
    stages_begin(stages, 0, partition, from, from);
    stages_assign(stages, partition);
    assert_true(stages_answered(stages, partition, &answer));
    stages_live(stages, partition, 1);
    if (next > from) stages_handled(stages, 0, partition, next - 1, 1000);
}

SET_UP() { return make(); }
TEAR_DOWN(struct stages *stages) { stages_free(stages); }

TEST(test_an_end_is_unknown_until_the_fence, struct stages *stages) {
    struct stages_answer answer = NOTHING;
    const int64_t *ends, found[STAGES_TOPICS_MAX] = {45, INT64_MAX};
    answer.ends[0] = 40;
    answer.ends[1] = 7;
    answer.fenced[0] = true;
    assert_false(stages_fence_begin(stages, 1));
    stages_assign(stages, 1);
    assert_false(stages_fence_begin(stages, 1)); // offsets are asked for first
    assert_true(stages_answered(stages, 1, &answer));
    assert_true(stages_ends(stages, 1)[0] == INT64_MAX && stages_ends(stages, 1)[1] == 7);
    assert_true(stages_fence_begin(stages, 1));
    assert_false(stages_fence_begin(stages, 1));
    stages_fence_end(stages, 1, NULL);
    assert_true(stages_fence_begin(stages, 1));
    stages_fence_end(stages, 1, found);
    stages_commands(stages, 1, &ends);
    assert_true(stages_ends(stages, 1)[0] == 45 && ends[0] == 45 && ends[1] == 7);
    answer.ends[0] = 50; // another answer
    stages_answered(stages, 1, &answer);
    assert_true(!stages_fence_begin(stages, 1) && stages_ends(stages, 1)[0] == 50);
    // Given away and back, within a fence.
    stages_release(stages, 1);
    stages_assign(stages, 1);
    stages_answered(stages, 1, &answer);
    assert_true(stages_fence_begin(stages, 1));
    stages_release(stages, 1);
    stages_assign(stages, 1);
    stages_answered(stages, 1, &answer);
    stages_fence_end(stages, 1, found);
    assert_true(stages_ends(stages, 1)[0] == INT64_MAX && stages_fence_begin(stages, 1));
}

TEST(test_goes_through_its_stages, struct stages *stages) {
    struct stages_answer answer = {.inputs = {5, 6}, .commands = {7}, .states = {-1}, .ends = {40, 0}};
    const int64_t *ends;
    assert_int_equal(stages_of(stages, 1), STAGE_FOREIGN);
    stages_assign(stages, 1);
    assert_int_equal(stages_of(stages, 1), STAGE_ASKING);
    stages_assign(stages, 1); // the group gives it once more
    assert_int_equal(stages_of(stages, 1), STAGE_ASKING);
    assert_null(stages_commands(stages, 1, &ends));
    assert_true(stages_answered(stages, 1, &answer));
    assert_int_equal(stages_of(stages, 1), STAGE_RESTORING);
    assert_int_equal(stages_ends(stages, 1)[0], 40);
    stages_live(stages, 1, 3);
    stages_assign(stages, 1);
    assert_int_equal(stages_of(stages, 1), STAGE_LIVE);
    assert_int_equal(stages_commands(stages, 1, &ends)[0], 7);
    assert_int_equal(ends[0], 40);
    stages_commands_begin(stages, 1);
    assert_true(stages_commanding(stages, 1));
    // A transaction failed: the answer says where commands go on, and nothing else changes.
    answer.commands[0] = 9;
    answer.ends[0] = 50;
    stages_commands_forget(stages);
    assert_false(stages_commanding(stages, 1));
    assert_false(stages_answered(stages, 1, &answer));
    assert_int_equal(stages_of(stages, 1), STAGE_LIVE);
    assert_int_equal(stages_commands(stages, 1, &ends)[0], 9);
    assert_int_equal(ends[0], 50);
    assert_true(stages_release(stages, 1));
    assert_int_equal(stages_of(stages, 1), STAGE_FOREIGN);
    assert_false(stages_release(stages, 1));
}

/* Nothing was attached yet, so that there is nothing to keep or to drop. */
TEST(test_what_was_only_asked_for_is_released_without_trace, struct stages *stages) {
    stages_assign(stages, 0);
    assert_false(stages_release(stages, 0));
}

TEST(test_begins_where_it_was_committed_or_where_reading_began, struct stages *stages) {
    struct stages_answer answer = NOTHING;
    for (int32_t p = 0; p < PARTITIONS; p++) stages_begin(stages, 0, p, 30, 90);
    stages_assign(stages, 0);
    stages_answered(stages, 0, &answer); // nothing was ever committed
    assert_int_equal(stages_next(stages, 0, 0), 30);
    stages_assign(stages, 1);
    answer.inputs[0] = 50;
    stages_answered(stages, 1, &answer);
    assert_int_equal(stages_next(stages, 0, 1), 50);
    stages_assign(stages, 2);
    answer.inputs[0] = 200; // the group is further on than what was read here: what lies between is read all the same
    stages_answered(stages, 2, &answer);
    assert_int_equal(stages_next(stages, 0, 2), 90);
}

/* Nobody reads an input of others' partitions: what they have handled in between is not handled again. */
TEST(test_what_was_not_observed_goes_on_where_it_was_committed, struct stages *stages) {
    struct stages_answer answer = NOTHING;
    answer.inputs[1] = 40;
    stages_assign(stages, 0);
    stages_answered(stages, 0, &answer);
    assert_int_equal(stages_next(stages, 1, 0), 40);
    stages_live(stages, 0, 1);
    stages_handled(stages, 1, 0, 59, 1000);
    stages_release(stages, 0);
    stages_assign(stages, 0);
    answer.inputs[1] = 90;
    stages_answered(stages, 0, &answer);
    assert_int_equal(stages_next(stages, 1, 0), 90);
}

/* One that is being restored once more has inputs whose deliveries are lost, too. */
TEST(test_what_is_not_settled_is_handled_again, struct stages *stages) {
    live(stages, 0, 50, 90);
    live(stages, 1, 60, 90);
    assert_true(stages_restore_again(stages, 1));
    assert_int_equal(stages_ends(stages, 1)[0], INT64_MAX);
    stages_begin(stages, 0, 2, 70, 90); // somebody else's
    assert_false(stages_restore_again(stages, 2));
    stages_rewind(stages);
    assert_int_equal(stages_next(stages, 0, 0), 50);
    assert_int_equal(stages_next(stages, 0, 1), 60);
    assert_int_equal(stages_next(stages, 0, 2), 90);
}

static size_t commit(struct stages *stages, bool again, int64_t *last) {
    size_t count = 0, input = 0;
    int32_t partition = -1;
    while (stages_commit(stages, again, &input, &partition, last)) count++;
    return count;
}

TEST(test_commits_what_was_handled_before_the_epoch_was_closed, struct stages *stages) {
    int64_t offset = -1;
    live(stages, 0, 10, 20);
    assert_int_equal(commit(stages, false, &offset), 0); // told to begin at 10: the group knows
    stages_note(stages, 1);
    stages_handled(stages, 0, 0, 24, 1000);
    assert_false(stages_all_told(stages));
    stages_settle(stages, 1);
    assert_int_equal(commit(stages, false, &offset), 1);
    assert_int_equal(offset, 20);
    assert_int_equal(commit(stages, false, &offset), 0);
    assert_int_equal(commit(stages, true, &offset), 2); // both inputs, however old
    stages_note(stages, 2);
    stages_settle(stages, 2);
    assert_int_equal(commit(stages, false, &offset), 1);
    assert_int_equal(offset, 25);
    stages_handled(stages, 1, 0, 24, 1000);
    stages_note(stages, 3);
    stages_settle(stages, 3);
    assert_int_equal(commit(stages, false, &offset), 1);
    assert_true(stages_all_told(stages));
    stages_untold(stages); // the group may not have heard it
    assert_int_equal(commit(stages, false, &offset), 2);
}

/* Epochs from before a partition became live say nothing of it: its inputs were handled by somebody else then. */
TEST(test_an_epoch_says_nothing_of_partitions_that_came_later, struct stages *stages) {
    int64_t offset = -1;
    struct stages_answer answer = NOTHING;
    answer.inputs[0] = answer.inputs[1] = 50;
    stages_begin(stages, 0, 0, 0, 80); // observed up to there
    stages_begin(stages, 1, 0, 0, 80);
    stages_note(stages, 4);
    stages_assign(stages, 0);
    stages_answered(stages, 0, &answer);
    stages_live(stages, 0, 5);
    stages_settle(stages, 4);
    assert_int_equal(commit(stages, false, &offset), 0);
    stages_note(stages, 5);
    stages_settle(stages, 5);
    assert_int_equal(commit(stages, true, &offset), 2);
    assert_int_equal(offset, 50);
}

TEST(test_what_is_held_back_lowers_what_is_committed, struct stages *stages) {
    int64_t offset = -1;
    live(stages, 0, 10, 20);
    stages_note(stages, 1)[0] = 15;
    stages_settle(stages, 1);
    assert_int_equal(commit(stages, false, &offset), 1);
    assert_int_equal(offset, 15);
    stages_lower(stages, 0, 0, 12);
    stages_lower(stages, 0, 0, 18);
    assert_int_equal(stages_next(stages, 0, 0), 12);
}

TEST(test_waiting_counts_from_the_last_that_was_handled, struct stages *stages) {
    assert_int_equal(stages_waiting_ms(stages, 0, 0, false, 5000, 77), 77); // nobody knows
    assert_int_equal(stages_waiting_ms(stages, 0, 0, true, 5000, 77), 0);
    assert_int_equal(stages_waiting_ms(stages, 0, 0, false, 5600, 77), 600);
    stages_handled(stages, 0, 0, 3, 5500);
    assert_int_equal(stages_waiting_ms(stages, 0, 0, false, 5600, 77), 100);
}
