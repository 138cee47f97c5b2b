/* The feed's protocol over the real stores, effects, inboxes and pages: after any trouble each page is right, and each rule of the
 * protocol is needed. FEED_HISTORIES says how many histories are tried; a few are enough to notice that a rule is broken. FEED_RULE
 * names the one rule that is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/feed/world.h"

enum { HISTORIES = 25, ENOUGH = 4000 };

static uint64_t histories(void) {
    const char *wanted = getenv("FEED_HISTORIES");
    return wanted ? strtoull(wanted, NULL, 10) : HISTORIES;
}

static void test_pages_are_right_after_any_trouble(void **state) {
    struct feed_world *world = feed_world_new();
    uint64_t count = histories();
    for (uint64_t seed = 1; seed <= count; seed++) {
        int wrong = feed_world_history(world, seed, RULE_NONE);
        if (wrong) fail_msg("seed %llu: %d wrong pages", (unsigned long long)seed, wrong);
    }
    feed_world_free(world);
}

static void test_each_rule_is_needed(void **state) {
    const char *only = getenv("FEED_RULE");
    for (int rule = RULE_NONE + 1; rule < FEED_RULES; rule++) {
        if (only && strcmp(only, FEED_RULE_NAMES[rule]) != 0) continue;
        struct feed_world *world = feed_world_new();
        uint64_t seed = 1;
        while (seed <= ENOUGH && !feed_world_history(world, seed, (enum feed_rule)rule)) seed++;
        printf("without %s: history %llu has a wrong page\n", FEED_RULE_NAMES[rule], (unsigned long long)seed);
        fflush(stdout);
        if (seed > ENOUGH) fail_msg("%d histories without %s are right", ENOUGH, FEED_RULE_NAMES[rule]);
        feed_world_free(world);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_are_right_after_any_trouble),
        cmocka_unit_test(test_each_rule_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
