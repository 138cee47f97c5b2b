/* How much one phone may say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fanout/talk.h"

enum { SECOND_US = 1000000 };

static void two_seconds_of_messages_may_come_at_once(void **state) {
    struct talk talk = {0};
    for (int i = 0; i < 100; i++) assert_false(talk_floods(&talk, 5 * SECOND_US, 50));
    assert_true(talk_floods(&talk, 5 * SECOND_US, 50));
    assert_false(talk_floods(&talk, 6 * SECOND_US, 50));
}

static void the_rate_itself_goes_on_for_ever(void **state) {
    struct talk talk = {0};
    for (int64_t i = 0; i < 10000; i++) assert_false(talk_floods(&talk, i * SECOND_US / 50, 50));
}

static void no_limit_is_no_flood(void **state) {
    struct talk talk = {0};
    for (int i = 0; i < 10000; i++) assert_false(talk_floods(&talk, 1, 0));
}

static void one_good_message_forgives_the_bad_ones(void **state) {
    struct talk talk = {0};
    for (int i = 0; i < 20; i++) assert_false(talk_was_bad(&talk));
    talk_was_good(&talk);
    for (int i = 0; i < 20; i++) assert_false(talk_was_bad(&talk));
    assert_true(talk_was_bad(&talk));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_seconds_of_messages_may_come_at_once),
        cmocka_unit_test(the_rate_itself_goes_on_for_ever),
        cmocka_unit_test(no_limit_is_no_flood),
        cmocka_unit_test(one_good_message_forgives_the_bad_ones),
    };
    return cmocka_run_group_tests_name("fanout talk", tests, NULL, NULL);
}
