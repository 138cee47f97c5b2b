/* The timing wheel against a plain list of deadlines: random sets, moves, clears and advances, small steps and jumps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash.h"
#include "fanout/wheel.h"

enum { TIMERS = 200, ROUNDS = 20000 };

struct entry {
    struct wheel_timer timer; /* first: the callback's pointer is the entry's */
    int set, fired;
};

static void fire(void *context, struct wheel_timer *timer) {
    (void)context;
    ((struct entry *)timer)->fired++;
}

static void agrees_with_a_list(void **state) {
    (void)state;
    static struct entry entries[TIMERS];
    struct wheel wheel;
    uint64_t seed = 1;
    int64_t now = 1000000;
    wheel_init(&wheel, 10, now);
    for (int round = 0; round < ROUNDS; round++) {
        struct entry *entry = &entries[hash_u64(seed++) % TIMERS];
        uint64_t choice = hash_u64(seed++) % 10;
        if (choice < 6) {
            uint64_t reach = (uint64_t[]){30, 3000, 4000000}[hash_u64(seed++) % 3];
            entry->set = 1;
            wheel_set(&wheel, &entry->timer, now - 5 + (int64_t)(hash_u64(seed++) % reach));
        } else if (choice < 7) {
            entry->set = 0;
            wheel_clear(&entry->timer);
        } else {
            int64_t step[] = {1, 9, 200, 10 * WHEEL_SLOTS * 3};
            now += step[hash_u64(seed++) % (round % 50 ? 3 : 4)];
            wheel_advance(&wheel, now, fire, NULL);
            for (int i = 0; i < TIMERS; i++) {
                int due = entries[i].set && entries[i].timer.due <= now;
                assert_int_equal(entries[i].fired, due);
                if (due) entries[i].set = entries[i].fired = 0;
            }
        }
    }
}

static struct wheel chain_wheel;

static void set_again(void *context, struct wheel_timer *timer) {
    ++*(int *)context;
    wheel_set(&chain_wheel, timer, timer->due + 10);
}

static void may_be_set_again_while_firing(void **state) {
    (void)state;
    struct wheel_timer timer = {0};
    int fired = 0;
    wheel_init(&chain_wheel, 10, 0);
    wheel_set(&chain_wheel, &timer, 10);
    for (int64_t now = 0; now <= 100; now += 10) wheel_advance(&chain_wheel, now, set_again, &fired);
    assert_int_equal(fired, 10);
    wheel_clear(&timer);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_a_list),
                                       cmocka_unit_test(may_be_set_again_while_firing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
