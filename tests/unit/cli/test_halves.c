#include "cli/halves.h"
#include "unit/kit/kit.h"

enum { USERS = 60 };

struct table {
    bool friends[USERS][USERS];
    size_t count;
    int64_t last_a, last_b;
    bool sorted;
};

static int mark(void *context, int64_t a, int64_t b) {
    struct table *table = context;
    if (a < table->last_a || (a == table->last_a && b <= table->last_b)) table->sorted = false;
    table->last_a = a;
    table->last_b = b;
    table->friends[a][b] = true;
    table->count++;
    return 0;
}

static int stop(void *context, int64_t a, int64_t b) {
    ++*(int *)context;
    return 9;
}

TEST(the_last_word_counts) {
    struct halves *halves = halves_new();
    halves_put(halves, 1, 2, true);
    halves_put(halves, 5, 7, true);
    halves_put(halves, 1, 2, false);
    halves_put(halves, 3, 4, false);
    halves_put(halves, 3, 4, true);
    struct table table = {.sorted = true, .last_a = -1};
    assert_int_equal(halves_each(halves, mark, &table), 0);
    assert_int_equal(table.count, 2);
    assert_true(table.friends[3][4] && table.friends[5][7]);
    int calls = 0;
    assert_int_equal(halves_each(halves, stop, &calls), 9);
    assert_int_equal(calls, 1);
    halves_clear(halves);
    assert_int_equal(halves_each(halves, mark, NULL), 0);
    halves_free(halves);
    halves_free(NULL);
}

/* Many more changes than pairs, so that what is outdated is dropped on the way. */
TEST(long_histories_are_as_a_table_would_say) {
    static bool wanted[USERS][USERS];
    struct halves *halves = halves_new();
    srandom(7);
    for (int i = 0; i < 400000; i++) {
        int64_t a = random() % USERS, b = random() % USERS;
        bool friends = random() % 3 != 0;
        wanted[a][b] = friends;
        halves_put(halves, a, b, friends);
    }
    struct table table = {.sorted = true, .last_a = -1};
    assert_int_equal(halves_each(halves, mark, &table), 0);
    assert_true(table.sorted);
    assert_memory_equal(table.friends, wanted, sizeof wanted);
    halves_free(halves);
}
