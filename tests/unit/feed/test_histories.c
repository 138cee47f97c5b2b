/* The feed's protocol over the real stores, effects, inboxes and pages: after any trouble each page is right, and each rule of the
 * protocol is needed. STARLING_HISTORIES says how many histories are tried; a few are enough to notice that a rule is broken. FEED_RULE
 * names the one rule that is left out. */
#include "unit/feed/world.h"
#include "unit/kit/kit.h"

enum { HISTORIES = 25, ENOUGH = 4000 };

/* The search begins here where few histories show a rule: shortly before one that does, until the histories change. */
static const uint64_t BEGIN[FEED_RULES] = {
    [RULE_ATTACH] = 30, [RULE_KEPT] = 430, [RULE_REQUEST] = 150, [RULE_VERSION] = 624, [RULE_SILENCE] = 610};

TEST(test_pages_are_right_after_any_trouble) {
    struct feed_world *world = feed_world_new();
    uint64_t count = kit_histories(HISTORIES);
    for (uint64_t seed = 1; seed <= count; seed++) {
        int wrong = feed_world_history(world, seed, RULE_NONE);
        if (wrong) fail_msg("seed %llu: %d wrong pages", (unsigned long long)seed, wrong);
    }
    feed_world_free(world);
}

TEST(test_each_rule_is_needed) {
    const char *only = getenv("FEED_RULE");
    for (int rule = RULE_NONE + 1; rule < FEED_RULES; rule++) {
        if (only && strcmp(only, FEED_RULE_NAMES[rule]) != 0) continue;
        struct feed_world *world = feed_world_new();
        uint64_t seed = BEGIN[rule] ? BEGIN[rule] : 1;
        while (seed <= ENOUGH && !feed_world_history(world, seed, (enum feed_rule)rule)) seed++;
        printf("without %s: history %llu has a wrong page\n", FEED_RULE_NAMES[rule], (unsigned long long)seed);
        fflush(stdout);
        if (seed > ENOUGH) fail_msg("%d histories without %s are right", ENOUGH, FEED_RULE_NAMES[rule]);
        feed_world_free(world);
    }
}
