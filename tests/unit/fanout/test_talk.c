/* How much one phone may say. */
#include "fanout/talk.h"
#include "unit/kit/kit.h"

enum { SECOND_US = 1000000 };

TEST(two_seconds_of_messages_may_come_at_once) {
    struct talk talk = {0};
    for (int i = 0; i < 100; i++) assert_false(talk_floods(&talk, 5 * SECOND_US, 50));
    assert_true(talk_floods(&talk, 5 * SECOND_US, 50));
    assert_false(talk_floods(&talk, 6 * SECOND_US, 50));
}

TEST(the_rate_itself_goes_on_for_ever) {
    struct talk talk = {0};
    for (int64_t i = 0; i < 10000; i++) assert_false(talk_floods(&talk, i * SECOND_US / 50, 50));
}

TEST(no_limit_is_no_flood) {
    struct talk talk = {0};
    for (int i = 0; i < 10000; i++) assert_false(talk_floods(&talk, 1, 0));
}

TEST(one_good_message_forgives_the_bad_ones) {
    struct talk talk = {0};
    for (int i = 0; i < 20; i++) assert_false(talk_was_bad(&talk));
    talk_was_good(&talk);
    for (int i = 0; i < 20; i++) assert_false(talk_was_bad(&talk));
    assert_true(talk_was_bad(&talk));
}
