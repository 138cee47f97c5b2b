/* The refusals of the last hour, against brute force. */
#include "base/chance.h"
#include "feed/refusals.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 2, COMMANDS = 3000, START = 1000000 };

static struct follow_refusal refusal_of(int64_t command) {
    return (struct follow_refusal){
        .command = command, .reason = command % 3 ? FOLLOW_REFUSAL_FULL : FOLLOW_REFUSAL_BLOCKED, .author = 1};
}

/* Commands are refused now and then; some records come twice, as after a rebalance. */
TEST(they_are_found_for_an_hour) {
    static int64_t refused_at[COMMANDS]; /* 0: it was not */
    struct chance chance = {.state = 7};
    struct refusals *refusals = refusals_new(PARTITIONS);
    enum follow_refusal_reason reason;
    int64_t now = START, offset = 0;
    assert_int_equal(refusals_next(refusals, 1, 0), -1);
    refusals_close(refusals, 1);
    for (int64_t command = 0; command < COMMANDS; command++, now += REFUSALS_KEPT_MS / 500) {
        struct follow_refusal refusal = refusal_of(command);
        if (chance_next(&chance) % 3 == 0) {
            refused_at[command] = now;
            refusals_take(refusals, 1, offset, now, &refusal);
            if (chance_next(&chance) % 4 == 0) refusals_take(refusals, 1, offset, now, &refusal);
            offset += 1 + chance_next(&chance) % 2; // markers of transactions have offsets, too
            assert_true(refusals_next(refusals, 1, 0) <= offset);
        }
        if (chance_next(&chance) % 50) continue;
        refusals_forget(refusals, now);
        for (int64_t asked = 0; asked < COMMANDS; asked++) {
            bool kept = refused_at[asked] && now - refused_at[asked] <= REFUSALS_KEPT_MS;
            assert_int_equal(refusals_find(refusals, 1, asked, &reason), kept);
            if (kept) assert_int_equal(reason, refusal_of(asked).reason);
            assert_false(refusals_find(refusals, 0, asked, &reason));
        }
    }
    refusals_close(refusals, 1);
    assert_false(refusals_find(refusals, 1, COMMANDS - 1, &reason));
    assert_int_equal(refusals_next(refusals, 1, 0), -1);
    refusals_free(refusals);
}
