/* Watching through random histories of trouble (watch_world.h): three minutes after the last trouble no phone shows an old page;
 * and each rule of the protocol is needed, because without it some phones do. STARLING_HISTORIES: how many, if not 10,000. */
#include "unit/kit/kit.h"
#include "unit/lib/watch/world.h"

static void all_end_well(uint64_t count, bool fingerprints) {
    struct watch_history sum = {.old_screens = 0};
    for (uint64_t seed = 0; seed < count; seed++) {
        struct watch_history h = watch_history_run(seed, fingerprints, WATCH_RULE_NONE);
        if (h.old_screens || h.wrong_contents || h.strangers)
            fail_msg("history %llu: %u old screens, %u wrong contents, %u strangers", (unsigned long long)seed,
                     h.old_screens, h.wrong_contents, h.strangers);
        sum.changes += h.changes;
        sum.stales += h.stales;
        sum.named_again += h.named_again;
        sum.asked_again += h.asked_again;
        sum.silent += h.silent;
    }
    print_message("%llu histories: %llu changes, %llu stale pages, %llu versions named again, %llu watches asked for "
                  "again, %llu silent watchers\n",
                  (unsigned long long)count, (unsigned long long)sum.changes, (unsigned long long)sum.stales,
                  (unsigned long long)sum.named_again, (unsigned long long)sum.asked_again,
                  (unsigned long long)sum.silent);
    // The histories have come to everything that they are to test.
    assert_true(sum.changes > count && sum.stales > count && sum.named_again > 0 && sum.asked_again > 0);
    assert_true(sum.silent > 0);
}

TEST(test_no_old_screen) { all_end_well(kit_histories(10000), false); }

TEST(test_no_old_screen_with_versions_that_fall) { all_end_well(kit_histories(10000), true); }

TEST(test_each_rule_is_needed) {
    static const enum watch_rule rules[] = {WATCH_RULE_ROLLCALL, WATCH_RULE_ACK, WATCH_RULE_SECOND, WATCH_RULE_REREAD};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        unsigned wrong = 0;
        for (uint64_t seed = 0; seed < 1000; seed++) wrong += watch_history_run(seed, false, rules[i]).old_screens > 0;
        print_message("without rule %d: %u of 1000 histories end with an old screen\n", rules[i], wrong);
        assert_true(wrong > 0);
    }
}
