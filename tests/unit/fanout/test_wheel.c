/* The timing wheel against a plain list of deadlines: random sets, moves, clears and advances, small steps and jumps. */
#include "fanout/wheel.h"
#include "unit/kit/kit.h"

enum { TIMERS = 200, ROUNDS = 20000 };

struct entry {
    struct wheel_timer timer; /* first: the callback's pointer is the entry's */
    int set, fired;
};

static void fire(void *context, struct wheel_timer *timer) {
    (void)context;
    ((struct entry *)timer)->fired++;
}

TEST(agrees_with_a_list) {
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
            wheel_clear(&wheel, &entry->timer);
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
    wheel_free(&wheel);
}

static struct wheel chain_wheel;

static void set_again(void *context, struct wheel_timer *timer) {
    ++*(int *)context;
    wheel_set(&chain_wheel, timer, timer->due + 10);
}

static void count_one(void *context, struct wheel_timer *timer) {
    (void)timer;
    ++*(int *)context;
}

TEST(may_be_set_again_while_firing) {
    struct wheel_timer timer = {0};
    int fired = 0;
    wheel_init(&chain_wheel, 10, 0);
    wheel_set(&chain_wheel, &timer, 10);
    for (int64_t now = 0; now <= 100; now += 10) wheel_advance(&chain_wheel, now, set_again, &fired);
    assert_int_equal(fired, 10);
    wheel_free(&chain_wheel);
}

/* While one slot's timers are set and cleared all the time, others in it stay, and its memory does not grow. */
TEST(what_was_cleared_takes_no_room) {
    struct wheel wheel;
    struct wheel_timer timers[20] = {{0}};
    int fired = 0;
    wheel_init(&wheel, 10, 0);
    for (int i = 0; i < 20; i++) wheel_set(&wheel, &timers[i], 100);
    for (int round = 0; round < 100000; round++) {
        wheel_clear(&wheel, &timers[round % 19]);
        wheel_set(&wheel, &timers[round % 19], round % 7 ? 100 : 200);
    }
    for (int i = 0; i < WHEEL_SLOTS; i++) assert_true(wheel.slots[i].room <= 64);
    for (int i = 0; i < 19; i++) wheel_set(&wheel, &timers[i], i % 2 ? 100 : 200);
    wheel_advance(&wheel, 100, count_one, &fired);
    assert_int_equal(fired, 10);
    wheel_advance(&wheel, 200, count_one, &fired);
    assert_int_equal(fired, 20);
    for (int i = 0; i < WHEEL_SLOTS; i++) assert_null(wheel.slots[i].timers);
    wheel_free(&wheel);
}

static struct wheel_timer *victims[3];

static void clear_the_others(void *context, struct wheel_timer *timer) {
    ++*(int *)context;
    for (int i = 0; i < 3; i++) {
        if (victims[i] == timer) continue;
        wheel_clear(&chain_wheel, victims[i]);
        if (i == 2) wheel_set(&chain_wheel, victims[i], timer->due); /* it is to be seen once, and not now */
    }
}

TEST(may_clear_others_while_firing) {
    struct wheel_timer timers[3] = {{0}};
    int fired = 0;
    wheel_init(&chain_wheel, 10, 0);
    for (int i = 0; i < 3; i++) wheel_set(&chain_wheel, victims[i] = &timers[i], 35);
    wheel_advance(&chain_wheel, 35, clear_the_others, &fired);
    assert_int_equal(fired, 1);
    assert_false(wheel_is_set(&timers[0]) || wheel_is_set(&timers[1]));
    assert_true(wheel_is_set(&timers[2]));
    wheel_advance(&chain_wheel, 35, clear_the_others, &fired);
    assert_int_equal(fired, 2);
    wheel_free(&chain_wheel);
}

/* While a slot is fired its timers and others are set and cleared, many into that very slot, which has to grow. */
struct crowd {
    struct wheel wheel;
    struct entry entries[TIMERS];
    int64_t now;
    uint64_t seed;
    int changes; /* at each that fires */
};

static void change_some(void *context, struct wheel_timer *timer) {
    static const int64_t DUE[] = {-5, 0, 4, 15, 3000, 40000};
    struct crowd *crowd = context;
    struct entry *fired = (struct entry *)timer;
    assert_true(fired->set && timer->due <= crowd->now);
    fired->set = 0;
    for (int i = 0; i < crowd->changes; i++) {
        struct entry *entry = &crowd->entries[hash_u64(crowd->seed++) % TIMERS];
        uint64_t choice = hash_u64(crowd->seed++) % 8;
        entry->set = choice < 6;
        if (entry->set)
            wheel_set(&crowd->wheel, &entry->timer, crowd->now + DUE[choice]);
        else
            wheel_clear(&crowd->wheel, &entry->timer);
    }
}

TEST(a_crowd_may_change_while_firing) {
    static struct crowd crowd = {.seed = 7};
    wheel_init(&crowd.wheel, 10, 0);
    for (int round = 0; round < 3000; round++) {
        struct entry *entry = &crowd.entries[round % TIMERS];
        entry->set = 1;
        wheel_set(&crowd.wheel, &entry->timer, crowd.now + 7);
        crowd.now += (int64_t[]){1, 9, 60, 10 * WHEEL_SLOTS * 3}[hash_u64(crowd.seed++) % 4];
        crowd.changes = round % 3 ? 1 : 30;
        wheel_advance(&crowd.wheel, crowd.now, change_some, &crowd);
        crowd.changes = 0;
        wheel_advance(&crowd.wheel, crowd.now, change_some, &crowd); /* what was set meanwhile */
        for (int i = 0; i < TIMERS; i++) {
            assert_int_equal(wheel_is_set(&crowd.entries[i].timer), crowd.entries[i].set);
            if (crowd.entries[i].set) assert_true(crowd.entries[i].timer.due > crowd.now);
        }
    }
    wheel_free(&crowd.wheel);
}
