/* How many commands a transaction takes where Kafka is slow, and how long it may. */
#include "decider/pacing.h"
#include "unit/kit/kit.h"

enum { MAX = 4000 };

TEST(late_ones_get_smaller_and_grow_again_in_time) {
    struct pacing pacing = pacing_new(MAX);
    pacing_committed(&pacing, MAX, 3000);
    assert_int_equal(pacing.limit, MAX / 2);
    for (int i = 0; i < 5; i++) pacing_committed(&pacing, pacing.limit, pacing.allowed_ms);
    assert_int_equal(pacing.limit, MAX / 64);
    assert_true(pacing_outgrown(&pacing));
    pacing_committed(&pacing, 10, 10); // says nothing about more
    assert_int_equal(pacing.limit, MAX / 64);
    int steps = 0;
    for (; pacing.limit < MAX; steps++) {
        size_t before = pacing.limit;
        pacing_committed(&pacing, pacing.limit, 10);
        assert_true(pacing.limit > before);
    }
    assert_in_range(steps, 8, 20);
}

TEST(a_late_one_with_few_gets_more_time_and_not_fewer) {
    struct pacing pacing = pacing_new(MAX);
    pacing_committed(&pacing, 20, 3000);
    assert_int_equal(pacing.limit, MAX);
    assert_true(pacing_outgrown(&pacing));
    pacing.producer_ms = pacing.allowed_ms;
    pacing_failed(&pacing, 20, pacing.allowed_ms);
    assert_int_equal(pacing.limit, MAX);
    assert_true(pacing_outgrown(&pacing));
}

TEST(what_fails_for_want_of_time_gets_more) {
    struct pacing pacing = pacing_new(MAX);
    pacing_failed(&pacing, MAX, 20); // fenced, or refused
    assert_int_equal(pacing.limit, MAX);
    assert_false(pacing_outgrown(&pacing));
    for (int i = 0; i < 20; i++) pacing_failed(&pacing, pacing.limit, pacing.allowed_ms);
    assert_int_equal(pacing.limit, 1);
    assert_int_equal(pacing.allowed_ms, 60000);
    assert_true(pacing_outgrown(&pacing));
    pacing.producer_ms = pacing.allowed_ms;
    for (int i = 0; i < 40; i++) pacing_committed(&pacing, 1, 10);
    assert_int_equal(pacing.allowed_ms, 5000);
    assert_false(pacing_outgrown(&pacing));
}

/* A Kafka that takes a time for each transaction and for each command: what is thrown away, and what is done of what could be. */
static void goodput(int64_t each_ms, double command_ms, double at_least) {
    struct pacing pacing = pacing_new(MAX);
    double now_ms = 0, done = 0, thrown = 0, longest_ms = 0, last_ms = 0;
    while (now_ms < 600000) {
        size_t commands = pacing.limit; // there are always more
        double took_ms = (double)each_ms + command_ms * (double)commands;
        bool in_time = took_ms <= (double)pacing.producer_ms;
        now_ms += in_time ? took_ms : (double)pacing.producer_ms;
        if (in_time) {
            pacing_committed(&pacing, commands, (int64_t)took_ms);
            if (pacing_outgrown(&pacing)) pacing.producer_ms = pacing.allowed_ms;
            done += (double)commands;
            if (now_ms - last_ms > longest_ms) longest_ms = now_ms - last_ms;
            last_ms = now_ms;
        } else {
            pacing_failed(&pacing, commands, pacing.producer_ms);
            pacing.producer_ms = pacing.allowed_ms;
            thrown += (double)commands;
        }
    }
    // The most that anything could do: transactions as large as allowed.
    double possible = 600000 / ((double)each_ms / MAX + command_ms);
    if (done < at_least * possible) fail_msg("%.0f of %.0f, %.0f thrown away", done, possible, thrown);
    assert_true(thrown < 3 * MAX);
    assert_true(longest_ms < 60000);
}

TEST(slow_kafkas_are_used) {
    goodput(50, 0.1, 0.9);
    goodput(1000, 1, 0.6);
    goodput(4000, 1, 0.6);
    goodput(8000, 2, 0.5);
    goodput(2000, 20, 0.7);
}
