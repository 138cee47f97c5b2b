/* Tests decisions.c, decisions_notices.c, decisions_wide.c, decisions_write.c, threads_many.c, threads_read.c and threads_take.c.
 * Comments through random histories (world.h): subjects, floors, counters, orders and pages end as a plain model has them; and each rule
 * of the spine is needed, because without it some do not. STARLING_HISTORIES: how many, if not 200. */
#include "unit/comments/world.h"
#include "unit/kit/kit.h"

TEST(all_end_as_the_model, struct comments_world *world) {
    uint64_t count = kit_histories(200);
    struct comments_history sum = {.commands = 0};
    for (uint64_t seed = 0; seed < count; seed++) {
        struct comments_history h = comments_history_run(world, seed, COMMENTS_RULE_NONE);
        if (*h.wrong) fail_msg("history %llu: %s", (unsigned long long)seed, h.wrong);
        sum.commands += h.commands;
        sum.comments += h.comments;
        sum.refusals += h.refusals;
        sum.passing += h.passing;
        sum.notices += h.notices;
        sum.edits += h.edits;
        sum.crashes += h.crashes;
        sum.aborts += h.aborts;
        sum.fenced += h.fenced;
        sum.disks += h.disks;
    }
    print_message(
        "%llu histories: %u commands, %u comments, %u edits, %u notices, %u refusals and %u that pass, %u crashes, %u aborted "
        "and %u fenced transactions, %u lost disks\n",
        (unsigned long long)count, sum.commands, sum.comments, sum.edits, sum.notices, sum.refusals, sum.passing,
        sum.crashes, sum.aborts, sum.fenced, sum.disks);
    // The histories have come to everything that they are to test.
    assert_true(sum.comments > count && sum.refusals > count && sum.passing > count / 2 && sum.notices > count);
    assert_true(sum.edits > count);
    assert_true(sum.crashes && sum.aborts && sum.fenced && sum.disks);
}

TEST(each_rule_is_needed, struct comments_world *world) {
    static const enum comments_rule RULES[] = {COMMENTS_RULE_FENCING, COMMENTS_RULE_OFFSET, COMMENTS_RULE_RESTORE,
                                               COMMENTS_RULE_OVERLAY};
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++) {
        bool wrong = false;
        uint64_t seed = 0;
        for (; seed < 50 && !wrong; seed++) wrong = *comments_history_run(world, seed, RULES[i]).wrong;
        print_message("without rule %d: history %d ends wrong\n", (int)RULES[i], (int)seed);
        assert_true(wrong);
    }
}

SET_UP_ONCE() { return comments_world_new(); }

TEAR_DOWN(struct comments_world *world) { comments_world_free(world); }
